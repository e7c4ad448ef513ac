package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/freeport"
)

// The program runs as it is in examples/README.md, but with other ports and without the time that people need to type.
func TestContact(t *testing.T) {
	t.Parallel()
	server := expect.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	defer server.Close()
	mails := make(chan string, 1)
	go serveMail(server, mails)
	address := expect.Must(freeport.Address(t.Context()))
	source := strings.NewReplacer("127.0.0.1:8080", address, "127.0.0.1:25", server.Addr().String(), "formpage.Config{", "formpage.Config{MinFillTime: -1, ").
		Replace(string(expect.Must(os.ReadFile("main.go"))))
	dir := t.TempDir()
	file, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "contact")
	expect.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, file).CombinedOutput()
	expect.Require(t, err == nil, "go build: %v\n%s", err, out)
	cmd := exec.CommandContext(t.Context(), program)
	log := make(lines, 10)
	cmd.Stderr = log
	expect.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	url := "http://" + address + "/f/contact"
	expect.That(t, strings.Contains(<-log, url), "the program does not print %s", url)

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request := func(method, path, body string) (int, string) {
		r := expect.Must(http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body)))
		r.Header.Set("Content-Type", "application/json")
		var response *http.Response
		for response == nil { // until the program listens
			response, _ = client.Do(r.Clone(t.Context()))
			r.Body = io.NopCloser(strings.NewReader(body))
			expect.NoError(t, t.Context().Err())
		}
		defer response.Body.Close()
		return response.StatusCode, string(expect.Must(io.ReadAll(response.Body)))
	}
	submit := func(answers string) int {
		_, form := request(http.MethodGet, "/form.json", "")
		var page struct{ State json.RawMessage }
		expect.NoError(t, json.Unmarshal([]byte(form), &page))
		code, _ := request(http.MethodPost, "/submit", fmt.Sprintf(`{"state":%s,"answers":%s}`, page.State, answers))
		return code
	}
	code, page := request(http.MethodGet, "", "")
	expect.That(t, code == http.StatusOK && strings.Contains(page, "Your message"), "the page has status %d and %d bytes", code, len(page))
	expect.Equal(t, submit(`{"email":"ann@example.com"}`), http.StatusUnprocessableEntity, "without a message")
	expect.Equal(t, submit(`{"email":"ann@example.com","message":"Grüße\n.\nBcc: eve@example.com"}`), http.StatusCreated, "with a message")
	want := "MAIL FROM:<forms@example.com>\nRCPT TO:<team@example.com>\nContent-Type: text/plain; charset=utf-8\nSubject: Contact form\n\n" +
		"ann@example.com\n\nGrüße\n.\nBcc: eve@example.com\n"
	got := <-mails
	expect.That(t, got == want, "the mail is\n%s\nwant\n%s", got, want)

	expect.NoError(t, server.Close())
	expect.Equal(t, submit(`{"email":"ann@example.com","message":"Again"}`), http.StatusCreated, "without a mail server")
	line := <-log
	expect.That(t, strings.Contains(line, "failed to send mail: "), "the log has %s", line)
}

// lines receives each write to a log.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(bytes.Clone(p))
	return len(p), nil
}

// serveMail accepts mails over SMTP, and sends each one with its addresses.
func serveMail(server net.Listener, mails chan<- string) {
	for {
		connection, err := server.Accept()
		if err != nil {
			return
		}
		c := textproto.NewConn(connection)
		_ = c.PrintfLine("220 ready")
		addresses := ""
		for line, err := c.ReadLine(); err == nil; line, err = c.ReadLine() {
			switch {
			case line == "DATA":
				_ = c.PrintfLine("354 continue")
				text, _ := c.ReadDotBytes()
				mails <- addresses + string(text)
			case strings.Contains(line, " FROM:") || strings.Contains(line, " TO:"):
				addresses += strings.Fields(line)[0] + " " + strings.Fields(line)[1] + "\n"
			}
			_ = c.PrintfLine("250 ok")
		}
		_ = c.Close()
	}
}
