package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/net/websocket"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/freeport"
)

// firefox is a page of Firefox, driven by WebDriver BiDi over its own websocket.
type firefox struct {
	remote
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
		expect.Require(t, os.Getenv("FORMSVC_TEST_REQUIRE_BROWSER") == "",
			"there is no Firefox on this machine: install Debian's firefox-esr")
		t.Skip("reason: there is no Firefox on this machine")
	}
	profile := t.TempDir()
	expect.NoError(t, os.WriteFile(filepath.Join(profile, "user.js"), []byte(quiet), 0o600))
	const origin = "http://127.0.0.1/"
	command := exec.CommandContext(t.Context(), path, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0", "--remote-allow-origins="+strings.TrimSuffix(origin, "/"), "about:blank")
	command.Env = append(os.Environ(), "HOME="+profile, "MOZ_CRASHREPORTER_DISABLE=1")
	out, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	expect.NoError(t, err)
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	found := make(chan string, 1)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, address, ok := strings.Cut(lines.Text(), "WebDriver BiDi listening on "); ok {
				found <- address
			}
		}
	}()
	f := &firefox{}
	f.remote = remote{t: t, result: f.result, act: f.act}
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
	expect.NoError(f.t, websocket.JSON.Send(f.wire, map[string]any{"id": f.n, "method": method, "params": params}))
	for {
		var m struct {
			ID             int
			Type, Method   string
			Error, Message string
			Result         json.RawMessage
			Params         struct{ Level, Text string }
		}
		err := websocket.JSON.Receive(f.wire, &m)
		expect.Require(f.t, err == nil, "%s: %v", method, err)
		switch {
		case m.Method == "log.entryAdded" && (m.Params.Level == "error" || m.Params.Level == "warn"):
			f.log = append(f.log, m.Params.Text)
		case m.ID != f.n:
		case m.Type == "error":
			f.t.Fatalf("%s: %s %s", method, m.Error, m.Message)
		default:
			if result != nil {
				expect.NoError(f.t, json.Unmarshal(m.Result, result))
			}
			return
		}
	}
}

func (f *firefox) visit(url string) {
	f.t.Helper()
	f.call("browsingContext.navigate", map[string]any{"context": f.context, "url": url, "wait": "complete"}, nil)
}

// value evaluates an expression: a text, or else a node, or what went wrong.
func (f *firefox) value(expression string) (text string, node any, wrong string) {
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

func (f *firefox) result(expression string, _ bool) (string, error) {
	f.t.Helper()
	text, _, wrong := f.value(asJSON(expression))
	if wrong != "" {
		return text, errors.New(wrong)
	}
	return text, nil
}

// remote is what browsers that WebDriver drives have in common.
type remote struct {
	t      testing.TB
	result func(expression string, wait bool) (string, error) // the JSON of an expression, or of what it promises
	act    func(device string, actions []map[string]any)
}

func (r *remote) evaluate(expression string) string {
	r.t.Helper()
	text, err := r.result(expression, true)
	expect.Require(r.t, err == nil, "%s: %s %v", expression, text, err)
	return text
}

func (r *remote) do(statements string) {
	r.t.Helper()
	_, err := r.result("(() => { "+statements+" })()", false)
	expect.Require(r.t, err == nil, "%s: %v", statements, err)
}

func (r *remote) until(expression string) {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got, err := r.result("!!("+expression+")", false)
		if got == "true" {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("never true: %s: %s %v\n%s", expression, got, err, r.evaluate("document.body.innerText"))
		}
	}
}

func (r *remote) key(keys string, modifiers ...chromedp.Modifier) {
	r.t.Helper()
	r.act("key", keyActions(keys, modifiers))
}

func (r *remote) insert(text string) {
	r.t.Helper()
	r.key(text)
}

func (r *remote) stroke(points ...[2]float64) {
	r.t.Helper()
	r.act("pointer", strokeActions(points))
}

func (r *remote) clickAt(x, y float64) {
	r.t.Helper()
	r.stroke([2]float64{x, y})
}

// What keys of package kb and modifiers are in WebDriver's private range.
var (
	webdriverKeys = strings.NewReplacer(kb.Tab, "\uE004", kb.Enter, "\uE007", "\n", "\uE007", kb.Escape, "\uE00C", kb.End, "\uE010", kb.Home, "\uE011",
		kb.ArrowLeft, "\uE012", kb.ArrowUp, "\uE013", kb.ArrowRight, "\uE014", kb.ArrowDown, "\uE015", kb.Delete, "\uE017", kb.F6, "\uE036")
	webdriverModifiers = map[chromedp.Modifier]string{chromedp.ModifierShift: "\uE008", chromedp.ModifierCtrl: "\uE009", chromedp.ModifierAlt: "\uE00A"}
)

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

func (f *firefox) size(width, height int64) {
	f.t.Helper()
	f.call("browsingContext.setViewport", map[string]any{"context": f.context, "viewport": map[string]any{"width": width, "height": height}}, nil)
}

func (f *firefox) setFiles(selector, name string) {
	f.t.Helper()
	_, node, _ := f.value("document.querySelector(" + quote(selector) + ")")
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
		expect.That(t, len(f.log) == 0, "the page complained:\n%s", strings.Join(f.log, "\n"))
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
	expect.Equal(t, s.label(form, first), "How many?", "stored")
}

// webkit is a page of WebKitGTK's MiniBrowser on a screen of its own, driven by WebDriver. What Safari
// shows comes from the same source.
type webkit struct {
	remote
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
		expect.Require(t, !full(), "there is no WebKit on this machine: install Debian's webkit2gtk-driver and xvfb")
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
		expect.NoError(t, err)
		t.Cleanup(func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL); _ = command.Wait() })
		return bufio.NewScanner(out)
	}
	lines := start(nil, screen, "-displayfd", "1", "-screen", "0", "1400x1000x24", "-nolisten", "tcp")
	lines.Scan()
	address := expect.Must(freeport.Address(t.Context()))
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
		expect.Require(t, !time.Now().After(deadline), "%v", err)
	}
	w := &webkit{session: "http://" + address + "/session"}
	w.remote = remote{t: t, result: w.result, act: w.act}
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
	limit := patience
	if path == "/execute/sync" {
		limit /= 8 // WebKit can lose a script while its page is left
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, w.session+path, bytes.NewReader(body))
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
	expect.NoError(w.t, w.try(method, path, params, value))
}

func (w *webkit) visit(url string) {
	w.t.Helper()
	w.call(http.MethodPost, "/url", map[string]any{"url": url}, nil)
}

// result waits only if it has to: a page without scripts that is left in the meantime never calls done.
func (w *webkit) result(expression string, wait bool) (text string, err error) {
	if !wait {
		err = w.try(http.MethodPost, "/execute/sync", map[string]any{"args": []any{}, "script": "return JSON.stringify((" + expression + ") ?? null)"}, &text)
		return text, err
	}
	err = w.try(http.MethodPost, "/execute/async", map[string]any{"args": []any{},
		"script": "const done = arguments[arguments.length - 1]; " + asJSON(expression) + ".then(done, e => done('!' + e))"}, &text)
	if strings.HasPrefix(text, "!") {
		err = errors.New(text)
	}
	return text, err
}

func (w *webkit) act(kind string, actions []map[string]any) {
	w.t.Helper()
	w.call(http.MethodPost, "/actions", map[string]any{"actions": []any{map[string]any{"type": kind, "id": kind, "actions": actions}}}, nil)
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
