package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/net/websocket"
)

// firefox is a page of Firefox, driven by WebDriver BiDi over its own websocket.
type firefox struct {
	t       testing.TB
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
		if os.Getenv("FORMSVC_TEST_REQUIRE_BROWSER") != "" {
			t.Fatal("there is no Firefox on this machine: install Debian's firefox-esr")
		}
		t.Skip("reason: there is no Firefox on this machine")
	}
	profile := t.TempDir()
	noError(t, os.WriteFile(filepath.Join(profile, "user.js"), []byte(quiet), 0o600))
	const origin = "http://127.0.0.1/"
	command := exec.CommandContext(t.Context(), path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0", "--remote-allow-origins="+strings.TrimSuffix(origin, "/"), "about:blank")
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
	var created struct{ Context string }
	f.call("browsingContext.create", map[string]any{"type": "tab"}, &created) // the first one never has the focus
	f.context = created.Context
	return f
}

// call sends a command and decodes its result.
func (f *firefox) call(method string, params, result any) {
	f.t.Helper()
	f.n++
	_ = f.wire.SetDeadline(time.Now().Add(patience))
	noError(f.t, websocket.JSON.Send(f.wire, map[string]any{"id": f.n, "method": method, "params": params}))
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
				noError(f.t, json.Unmarshal(m.Result, result))
			}
			return
		}
	}
}

func (f *firefox) visit(url string) {
	f.t.Helper()
	f.call("browsingContext.navigate", map[string]any{"context": f.context, "url": url, "wait": "complete"}, nil)
}

// result evaluates an expression: a text, or else a node, or what went wrong.
func (f *firefox) result(expression string) (text string, node any, wrong string) {
	f.t.Helper()
	var got struct {
		Result struct {
			Value    any
			SharedID any `json:"sharedId"`
		}
		ExceptionDetails struct{ Text string }
	}
	f.call("script.evaluate", map[string]any{"expression": expression, "target": map[string]any{"context": f.context}, "awaitPromise": true}, &got)
	text, _ = got.Result.Value.(string)
	return text, got.Result.SharedID, got.ExceptionDetails.Text
}

func (f *firefox) evaluate(expression string) string {
	f.t.Helper()
	text, _, wrong := f.result(asJSON(expression))
	if wrong != "" {
		f.t.Fatalf("%s: %s", expression, wrong)
	}
	return text
}

func (f *firefox) do(statements string) {
	f.t.Helper()
	f.evaluate("(() => { " + statements + " })()")
}

func (f *firefox) until(expression string) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got, _, wrong := f.result(asJSON("!!(" + expression + ")"))
		if got == "true" {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("never true: %s: %s\n%s", expression, wrong, f.evaluate("document.body.innerText"))
		}
	}
}

// What keys of package kb and modifiers are in WebDriver's private range.
var (
	webdriverKeys = strings.NewReplacer(kb.Tab, "\uE004", kb.Enter, "\uE007", "\n", "\uE007", kb.Escape, "\uE00C", kb.End, "\uE010", kb.Home, "\uE011",
		kb.ArrowLeft, "\uE012", kb.ArrowUp, "\uE013", kb.ArrowRight, "\uE014", kb.ArrowDown, "\uE015", kb.Delete, "\uE017", kb.F6, "\uE036")
	webdriverModifiers = map[chromedp.Modifier]string{chromedp.ModifierShift: "\uE008", chromedp.ModifierCtrl: "\uE009", chromedp.ModifierAlt: "\uE00A"}
)

func (f *firefox) key(keys string, modifiers ...chromedp.Modifier) {
	f.t.Helper()
	f.act("key", keyActions(keys, modifiers))
}

// keyActions are the actions of a keyboard, as WebDriver has them.
func keyActions(keys string, modifiers []chromedp.Modifier) (actions []map[string]any) {
	act := func(way, key string) { actions = append(actions, map[string]any{"type": way, "value": key}) }
	for _, m := range modifiers {
		act("keyDown", webdriverModifiers[m])
	}
	for _, r := range webdriverKeys.Replace(keys) {
		act("keyDown", string(r))
		act("keyUp", string(r))
	}
	for _, m := range modifiers {
		act("keyUp", webdriverModifiers[m])
	}
	return actions
}

// strokeActions press the button at the first point, and release it at the last one.
func strokeActions(points [][2]float64) []map[string]any {
	var actions []map[string]any
	for i, p := range points {
		actions = append(actions, map[string]any{"type": "pointerMove", "x": int(p[0]), "y": int(p[1]), "duration": 0})
		if i == 0 {
			actions = append(actions, map[string]any{"type": "pointerDown", "button": 0})
		}
	}
	return append(actions, map[string]any{"type": "pointerUp", "button": 0})
}

func (f *firefox) stroke(points ...[2]float64) {
	f.t.Helper()
	f.act("pointer", strokeActions(points))
}

func (f *firefox) size(width, height int64) {
	f.t.Helper()
	f.call("browsingContext.setViewport", map[string]any{"context": f.context, "viewport": map[string]any{"width": width, "height": height}}, nil)
}

func (f *firefox) insert(text string) {
	f.t.Helper()
	f.key(text)
}

func (f *firefox) clickAt(x, y float64) {
	f.t.Helper()
	f.stroke([2]float64{x, y})
}

func (f *firefox) setFiles(selector, name string) {
	f.t.Helper()
	_, node, _ := f.result("document.querySelector(" + quote(selector) + ")")
	f.call("input.setFiles", map[string]any{"context": f.context, "element": map[string]any{"sharedId": node}, "files": []string{name}}, nil)
}

func (f *firefox) act(device string, actions []map[string]any) {
	f.t.Helper()
	f.call("input.performActions", map[string]any{"context": f.context, "actions": []any{map[string]any{"type": device, "id": device, "actions": actions}}}, nil)
}

// ownersFirefox is a page of Firefox in which the owner is signed in. At the end of the test nothing may
// have complained in it.
func (s *site) ownersFirefox(t *testing.T, f *firefox) *firefox {
	t.Helper()
	f.t, f.log = t, nil
	f.call("browsingContext.setViewport", map[string]any{"context": f.context, "viewport": map[string]any{"width": 1280, "height": 900}}, nil)
	f.call("storage.setCookie", map[string]any{"cookie": map[string]any{"name": userCookie, "value": map[string]any{"type": "string", "value": "owner"}, "domain": "127.0.0.1"}}, nil)
	t.Cleanup(func() {
		if len(f.log) > 0 {
			t.Errorf("the page complained:\n%s", strings.Join(f.log, "\n"))
		}
	})
	return f
}

// In Firefox a form is made, blocks are added, moved, duplicated, undone and typed into, and all is there
// after a reload.
func TestEditorInFirefox(t *testing.T) {
	inFull(t)
	s := newOwners(t)
	h := s.hand(s.ownersFirefox(t, newFirefox(t)), true)
	form := s.draft("In Firefox", `[]`)
	path := "/" + form.ID.String()
	h.start(path, ".editor")
	first := h.add("number")
	h.write(labelField, "How many?")
	h.key(kb.Escape)
	h.until(`T.row(T.chosen()) === document.activeElement`)
	h.add("yes_no")
	h.write(labelField, "Really?")
	h.key(kb.Escape)
	h.until(`T.row(T.chosen()) === document.activeElement`)
	h.saved()
	h.row(first)
	h.key(kb.ArrowDown, chromedp.ModifierAlt)
	h.until(`T.ids()[1] === ` + quote(first) + ` && T.row(T.chosen()) === document.activeElement`)
	h.key("d", chromedp.ModifierCtrl)
	h.until(`T.ids().length === 3`)
	h.key(kb.Escape)
	h.until(`T.row(T.chosen()) === document.activeElement`)
	h.key("z", chromedp.ModifierCtrl)
	h.until(`T.ids().length === 2`)
	h.saved()
	h.until(`document.querySelector(".canvas-frame").contentDocument.body.innerText.includes("Really?")`)
	h.start(path, ".outline")
	h.until(`T.ids().length === 2 && document.querySelector(".outline").innerText.includes("How many?") && T.ids()[1] === ` + quote(first))
	if got := s.label(form, first); got != "How many?" {
		t.Errorf("stored is %q", got)
	}
}
