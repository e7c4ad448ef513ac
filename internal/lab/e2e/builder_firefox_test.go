package e2e

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/formsvc/formsvc"
)

// firefox is a page of Firefox, driven by WebDriver BiDi over its own websocket.
type firefox struct {
	t       *testing.T
	wire    *websocket.Conn
	n       int
	context string
	log     []string // what the page complained of
}

// quiet are preferences of a browser that talks to nobody but this machine.
const quiet = `user_pref("network.proxy.type", 1); user_pref("network.proxy.http", "127.0.0.1"); user_pref("network.proxy.http_port", 9); user_pref("network.proxy.ssl", "127.0.0.1"); user_pref("network.proxy.ssl_port", 9);
user_pref("app.update.disabledForTesting", true); user_pref("datareporting.policy.dataSubmissionEnabled", false); user_pref("network.captive-portal-service.enabled", false); user_pref("network.connectivity-service.enabled", false);
user_pref("intl.accept_languages", "en-US");`

// newFirefox starts Firefox, which FIREFOX_PATH names, else the first that is installed.
func newFirefox(t *testing.T) *firefox {
	t.Helper()
	path := os.Getenv("FIREFOX_PATH")
	for _, name := range []string{"firefox-esr", "firefox"} {
		if found, err := exec.LookPath(name); path == "" && err == nil {
			path = found
		}
	}
	if path == "" {
		t.Skip("reason: there is no Firefox on this machine")
	}
	profile := t.TempDir()
	if err := os.WriteFile(filepath.Join(profile, "user.js"), []byte(quiet), 0o600); err != nil {
		t.Fatal(err)
	}
	const origin = "http://127.0.0.1/"
	command := exec.CommandContext(t.Context(), path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0", "--remote-allow-origins="+strings.TrimSuffix(origin, "/"), "about:blank") //nolint:gosec // the browser of this machine
	command.Env = append(os.Environ(), "HOME="+profile, "MOZ_CRASHREPORTER_DISABLE=1")
	out, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	found := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, address, ok := strings.Cut(lines.Text(), "WebDriver BiDi listening on "); ok {
				found <- address
			}
		}
	}()
	f := &firefox{t: t}
	select {
	case address := <-found:
		config, err := websocket.NewConfig(address+"/session", origin)
		if err == nil {
			f.wire, err = config.DialContext(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("Firefox does not say where it listens")
	}
	t.Cleanup(func() { _ = f.wire.Close() })
	f.call("session.new", map[string]any{"capabilities": map[string]any{}}, nil)
	f.call("session.subscribe", map[string]any{"events": []string{"log.entryAdded"}}, nil)
	var tree struct {
		Contexts []struct{ Context string }
	}
	f.call("browsingContext.getTree", map[string]any{}, &tree)
	f.context = tree.Contexts[0].Context
	return f
}

// call sends a command and decodes its result.
func (f *firefox) call(method string, params, result any) {
	f.t.Helper()
	f.n++
	_ = f.wire.SetDeadline(time.Now().Add(patience))
	if err := websocket.JSON.Send(f.wire, map[string]any{"id": f.n, "method": method, "params": params}); err != nil {
		f.t.Fatal(err)
	}
	for {
		var m struct {
			ID             int
			Type, Method   string
			Error, Message string
			Result         json.RawMessage
			Params         struct{ Level, Text string }
		}
		if err := websocket.JSON.Receive(f.wire, &m); err != nil {
			f.t.Fatalf("%s: %v", method, err)
		}
		switch {
		case m.Method == "log.entryAdded" && (m.Params.Level == "error" || m.Params.Level == "warn"):
			f.log = append(f.log, m.Params.Text)
		case m.ID != f.n:
		case m.Type == "error":
			f.t.Fatalf("%s: %s %s", method, m.Error, m.Message)
		default:
			if result != nil {
				if err := json.Unmarshal(m.Result, result); err != nil {
					f.t.Fatal(err)
				}
			}
			return
		}
	}
}

func (f *firefox) open(address string) {
	f.t.Helper()
	f.call("browsingContext.navigate", map[string]any{"context": f.context, "url": address, "wait": "complete"}, nil)
	f.text(tools)
}

// text is the value of an expression as a text.
func (f *firefox) text(expression string) string {
	f.t.Helper()
	var got struct {
		Type             string
		Result           struct{ Value any }
		ExceptionDetails struct{ Text string }
	}
	f.call("script.evaluate", map[string]any{"expression": "(() => { try { return String(" + strings.TrimSuffix(expression, ";") + ") } catch (e) { return String(e) } })()", "target": map[string]any{"context": f.context}, "awaitPromise": true}, &got)
	value, _ := got.Result.Value.(string)
	return value + got.ExceptionDetails.Text
}

func (f *firefox) until(expression string) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got := f.text("!!(" + expression + ")")
		if got == "true" {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("never true: %s: %s\n%s", expression, got, f.text("document.body.innerText"))
		}
	}
}

// keys presses keys; those without a sign are in WebDriver's private range.
func (f *firefox) keys(text string) {
	f.t.Helper()
	var actions []map[string]any
	for _, r := range text {
		actions = append(actions, map[string]any{"type": "keyDown", "value": string(r)}, map[string]any{"type": "keyUp", "value": string(r)})
	}
	f.call("input.performActions", map[string]any{"context": f.context, "actions": []any{map[string]any{"type": "key", "id": "keys", "actions": actions}}}, nil)
}

// press clicks the middle of an element.
func (f *firefox) press(element string) {
	f.t.Helper()
	f.until("T.shown(" + element + ")")
	var at [2]int
	if err := json.Unmarshal([]byte(f.text(`(() => { const e = `+element+`; e.scrollIntoView({block: "center", behavior: "instant"}); const r = e.getBoundingClientRect(); return JSON.stringify([Math.round(r.x+r.width/2), Math.round(r.y+r.height/2)]) })()`)), &at); err != nil {
		f.t.Fatal(err)
	}
	actions := []any{map[string]any{"type": "pointerMove", "x": at[0], "y": at[1]}, map[string]any{"type": "pointerDown", "button": 0}, map[string]any{"type": "pointerUp", "button": 0}}
	f.call("input.performActions", map[string]any{"context": f.context, "actions": []any{map[string]any{"type": "pointer", "id": "mouse", "actions": actions}}}, nil)
}

// In Firefox a form is made, blocks are added, moved, undone and typed into, and all is there after a reload.
func TestEditorInFirefox(t *testing.T) {
	inFull(t)
	const enter, escape, up, alt, ctrl = "\uE007", "\uE00C", "\uE013", "\uE00A", "\uE009"
	s := newOwners(t)
	f := newFirefox(t)
	address, err := url.Parse(s.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f.call("storage.setCookie", map[string]any{"cookie": map[string]any{"name": userCookie, "value": map[string]any{"type": "string", "value": "owner"}, "domain": address.Hostname()}}, nil)
	f.open(s.server.URL + "/forms/")
	f.press(`T.named(` + quote(word(t, "forms.new")) + `)`)
	f.press(`document.querySelector("dialog input.input")`)
	f.keys("In Firefox" + enter)
	f.until(`document.querySelector(".editor") && T.status() === "saved"`)
	f.keys("/")
	f.until(`document.activeElement.matches("dialog [role=combobox]")`)
	f.keys("number" + enter)
	f.until(`document.activeElement.matches("[data-path='/label'] textarea")`)
	f.keys("How many?" + escape)
	f.until(`T.row(T.chosen()) === document.activeElement`)
	f.keys("/")
	f.until(`document.activeElement.matches("dialog [role=combobox]")`)
	f.keys("yes" + enter)
	f.until(`T.ids().length === 2 && document.activeElement.matches("[data-path='/label'] textarea")`)
	f.keys("Really?" + escape)
	f.until(`T.row(T.chosen()) === document.activeElement && T.status() === "saved"`)
	chord := func(modifier, key string) {
		f.call("input.performActions", map[string]any{"context": f.context, "actions": []any{map[string]any{"type": "key", "id": "keys", "actions": []any{
			map[string]any{"type": "keyDown", "value": modifier}, map[string]any{"type": "keyDown", "value": key}, map[string]any{"type": "keyUp", "value": key}, map[string]any{"type": "keyUp", "value": modifier},
		}}}}, nil)
	}
	first := f.text(`T.ids()[0]`)
	chord(alt, up)
	f.until(`T.ids()[1] === ` + quote(first) + ` && T.row(T.chosen()) === document.activeElement`)
	chord(ctrl, "d")
	f.until(`T.ids().length === 3`)
	f.keys(escape)
	f.until(`T.row(T.chosen()) === document.activeElement`)
	chord(ctrl, "z")
	f.until(`T.ids().length === 2`)
	f.until(`T.status() === "saved"`)
	f.until(`document.querySelector(".canvas-frame").contentDocument.body.innerText.includes("Really?")`)
	path := f.text(`location.pathname`)
	f.open(s.server.URL + path)
	f.until(`T.ids().length === 2 && document.querySelector(".outline").innerText.includes("How many?") && T.ids()[1] === ` + quote(first))
	id, err := formsvc.ParseID(path[strings.LastIndex(path, "/")+1:])
	if err != nil {
		t.Fatal(err)
	}
	if got := s.label(formsvc.Form{ID: id}, first); got != "How many?" {
		t.Errorf("stored is %q", got)
	}
	if len(f.log) > 0 {
		t.Errorf("the page complained:\n%s", strings.Join(f.log, "\n"))
	}
}
