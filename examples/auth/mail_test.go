package main

import (
	"context"
	"encoding/json"
	"io"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"testing"

	"github.com/wneessen/go-mail"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// The owner and the respondent get mails about a response, over SMTP.
func TestMailsAboutAResponse(t *testing.T) {
	t.Parallel()
	p := start(t)
	server := expect.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = server.Close() })
	mails := make(chan string, 10)
	go serveMail(server, mails)
	p.mail.client = expect.Must(mail.NewClient("127.0.0.1", mail.WithPort(server.Addr().(*net.TCPAddr).Port), mail.WithTLSPolicy(mail.NoTLS)))
	for range 2 { // one webhook
		expect.NoError(t, p.mail.register(t.Context()))
	}
	ann := expect.Must(p.accounts.signIn(t.Context(), "ann@example.com", "correct horse"))
	owner := expect.Must(p.accounts.session(t.Context(), ann)).user().ID
	workspace := expect.Must(p.service.CreateWorkspace(t.Context(), owner, "Ann's forms"))
	form := expect.Must(p.service.As(owner).CreateForm(t.Context(), formsvc.FormCreate{Workspace: workspace.ID, Name: "Grüße", Definition: formsvc.Definition{
		Blocks: json.RawMessage(`[{"id":"email","type":"email","label":"Your **email**"},{"id":"text","type":"long_text","label":"Message"}]`),
	}}))
	expect.Must(p.service.As(owner).PublishForm(t.Context(), form.ID))
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan error)
	go func() { stopped <- p.service.Dispatcher().Run(ctx) }()
	expect.Must(p.service.Submit(t.Context(), formsvc.SubmitParams{FormID: form.ID, Answers: map[string]json.RawMessage{
		"email": json.RawMessage(`"eve@example.com"`), "text": json.RawMessage(`"Grüße\n.\nBcc: bob@example.com"`),
	}}))
	for _, to := range []string{"ann@example.com", "eve@example.com"} {
		got := <-mails
		head, body, _ := strings.Cut(got, "\n\n")
		text := head + "\n\n" + string(expect.Must(io.ReadAll(quotedprintable.NewReader(strings.NewReader(body)))))
		for _, want := range []string{"TO:<" + to + ">\n", "To: <" + to + ">\n", "Subject: =?UTF-8?q?", "Your email: eve@example.com\n", "Message: Grüße\n"} {
			expect.That(t, strings.Contains(text, want), "the mail to %s lacks %q:\n%s", to, want, text)
		}
		expect.That(t, !strings.Contains(head, "Bcc"), "an answer is a header:\n%s", head)
	}
	stop()
	expect.NoError(t, <-stopped)

	// A server that rejects the respondent's address ends the event, and a server that is down repeats it.
	event := `{"response":{"formId":"` + form.ID.String() + `","answers":{"email":"nobody@example.com"},"questions":{"email":{"type":"email"}}}}`
	for _, want := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		w := httptest.NewRecorder()
		p.mail.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(event)))
		expect.That(t, w.Code == want, "%d %s, want %d", w.Code, w.Body, want)
		_ = server.Close()
	}
	expect.Equal(t, len(mails), 1, "mails to the owner")
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
			case line == "QUIT":
				_ = c.PrintfLine("221 bye")
				continue
			case line == "DATA":
				_ = c.PrintfLine("354 continue")
				text, _ := c.ReadDotBytes()
				mails <- addresses + string(text)
			case strings.Contains(line, "TO:<nobody@"):
				_ = c.PrintfLine("550 no such user")
				continue
			case strings.Contains(line, " TO:"):
				addresses += strings.Fields(line)[1] + "\n"
			}
			_ = c.PrintfLine("250 ok")
		}
		_ = c.Close()
	}
}
