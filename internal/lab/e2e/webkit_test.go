package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// webkit is a page of WebKitGTK's MiniBrowser on a screen of its own, driven by WebDriver. What Safari
// shows comes from the same source.
type webkit struct {
	t       testing.TB
	session string // the address of the session
}

// webkitPrograms are what Debian's webkit2gtk-driver and xvfb install.
func webkitPrograms() (driver, browser, screen string) {
	driver, _ = exec.LookPath("WebKitWebDriver")
	screen, _ = exec.LookPath("Xvfb")
	browsers, _ := filepath.Glob("/usr/lib/*/webkit2gtk-4.*/MiniBrowser")
	if len(browsers) > 0 {
		browser = browsers[len(browsers)-1]
	}
	return driver, browser, screen
}

func newWebKit(t *testing.T) *webkit {
	t.Helper()
	driver, browser, screen := webkitPrograms()
	if driver == "" || browser == "" || screen == "" {
		if full() {
			t.Fatal("there is no WebKit on this machine: install Debian's webkit2gtk-driver and xvfb")
		}
		t.Skip("reason: there is no WebKit on this machine")
	}
	start := func(env []string, name string, args ...string) *bufio.Scanner {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Env = append(os.Environ(), env...)
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // its children end with it
		out, err := command.StdoutPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL); _ = command.Wait() })
		return bufio.NewScanner(out)
	}
	lines := start(nil, screen, "-displayfd", "1", "-screen", "0", "1400x1000x24", "-nolisten", "tcp")
	lines.Scan()
	free := must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))
	address := free.Addr().String()
	_ = free.Close()
	_, port, _ := strings.Cut(address, ":")
	home := t.TempDir()
	start([]string{"DISPLAY=:" + lines.Text(), "HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_DATA_HOME=" + home, "GDK_BACKEND=x11", "LANG=C.UTF-8", "WEBKIT_DISABLE_COMPOSITING_MODE=1",
		"http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9", "no_proxy=127.0.0.1,localhost"}, driver, "--host=127.0.0.1", "--port="+port) // it talks to nobody else
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	w := &webkit{t: t, session: "http://" + address + "/session"}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	w.call(http.MethodPost, "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"webkitgtk:browserOptions": map[string]any{"binary": browser, "args": []string{"--automation"}}}}}, &made)
	w.session += "/" + made.SessionID
	return w
}

// try sends a command and decodes its value.
func (w *webkit) try(method, path string, params, value any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.session+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	var got struct{ Value json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, got.Value)
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(got.Value, value)
}

func (w *webkit) call(method, path string, params, value any) {
	w.t.Helper()
	noError(w.t, w.try(method, path, params, value))
}

func (w *webkit) visit(url string) {
	w.t.Helper()
	w.call(http.MethodPost, "/url", map[string]any{"url": url}, nil)
}

func (w *webkit) result(expression string) (text string, err error) {
	err = w.try(http.MethodPost, "/execute/async", map[string]any{"args": []any{},
		"script": "const done = arguments[arguments.length - 1]; " + asJSON(expression) + ".then(done, e => done('!' + e))"}, &text)
	return text, err
}

func (w *webkit) evaluate(expression string) string {
	w.t.Helper()
	text, err := w.result(expression)
	if err != nil || strings.HasPrefix(text, "!") {
		w.t.Fatalf("%s: %s %v", expression, text, err)
	}
	return text
}

func (w *webkit) do(statements string) {
	w.t.Helper()
	w.evaluate("(() => { " + statements + " })()")
}

func (w *webkit) until(expression string) {
	w.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got, err := w.result("!!(" + expression + ")")
		if got == "true" {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("never true: %s: %v %s\n%s", expression, err, got, w.evaluate("document.body.innerText"))
		}
	}
}

func (w *webkit) act(kind string, actions []map[string]any) {
	w.t.Helper()
	w.call(http.MethodPost, "/actions", map[string]any{"actions": []any{map[string]any{"type": kind, "id": kind, "actions": actions}}}, nil)
}

func (w *webkit) key(keys string, modifiers ...chromedp.Modifier) {
	w.t.Helper()
	w.act("key", keyActions(keys, modifiers))
}

func (w *webkit) insert(text string) {
	w.t.Helper()
	w.key(text)
}

func (w *webkit) clickAt(x, y float64) {
	w.t.Helper()
	w.stroke([2]float64{x, y})
}

func (w *webkit) stroke(points ...[2]float64) {
	w.t.Helper()
	w.act("pointer", strokeActions(points))
}

func (w *webkit) setFiles(selector, name string) {
	w.t.Helper()
	var element map[string]string
	w.call(http.MethodPost, "/element", map[string]any{"using": "css selector", "value": selector}, &element)
	for _, id := range element {
		w.call(http.MethodPost, "/element/"+id+"/value", map[string]any{"text": name}, nil)
	}
}

// size sets the size of the window: the page in it is a little smaller, and not as narrow as a phone.
func (w *webkit) size(width, height int64) {
	w.t.Helper()
	w.call(http.MethodPost, "/window/rect", map[string]any{"x": 0, "y": 0, "width": width, "height": height}, nil)
	w.until(fmt.Sprintf("Math.abs(innerWidth - %d) < 200", width))
}
