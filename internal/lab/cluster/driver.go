//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/ledger"
)

// The doors by which the driver comes in. The longest silence of each is measured.
const (
	doorPages   = "pages"
	doorGo      = "Go"
	doorOrders  = "orders"  // a transaction of the host's, with a response in it
	doorEdits   = "edits"   // of forms, and their reading
	doorExports = "exports" // of the responses to a form
	doorEvents  = "events"  // the receiver's
)

// The two ways by which hosts reach PostgreSQL, whose silences are measured as well: how long
// no change was acknowledged by a host of that way.
const (
	wayDirect = "direct"
	wayPooler = "pooler"
)

var doors = []string{doorPages, doorGo, doorOrders, doorEdits, doorExports, doorEvents, wayDirect, wayPooler}

// workers are how many clients come in by a door, and how long each pauses at most.
var workers = []struct {
	door  string
	count int
	pause time.Duration
	once  func(*driver, context.Context, client) bool // does one thing; false: it was not done
}{
	{doorPages, 4, 400 * time.Millisecond, (*driver).fillIn},
	{doorGo, 6, 400 * time.Millisecond, (*driver).submit},
	{doorOrders, 4, 400 * time.Millisecond, (*driver).order},
	{doorEdits, formCount, 800 * time.Millisecond, (*driver).edit},
	{doorExports, 1, 2 * time.Second, (*driver).export},
}

const (
	// requestTimeout is how long a client waits. It is longer than a host may take.
	requestTimeout = 15 * time.Second
	retryPause     = 50 * time.Millisecond
	repeated       = 0.03 // of the acknowledged responses are sent again
)

// driver is the clients of the hosts, and what they were told.
type driver struct {
	hosts []reached
	key   string // of the API
	forms []formsvc.Form
	seed  uint64

	mu           sync.Mutex
	acknowledged []ledger.Acknowledgement
	unanswered   []string
	byForm       map[formsvc.ID]map[string]bool // the acknowledged keys
	edits        map[formsvc.ID]int             // the last acknowledged edit
	exports      int
	slowest      time.Duration  // answer
	refusals     map[string]int // answers that ask to come again, by door
	findings     []ledger.Finding
	last         map[string]time.Time // that something worked, by door
	longest      map[string]time.Duration
}

// reached is a host as the driver reaches it.
type reached struct {
	http *http.Client
	way  string
}

// client is one of the clients of a door.
type client struct {
	door   string
	number int
	turn   int
	random *rand.Rand
}

// name is the key of what a client does in a turn.
func (c client) name() string { return fmt.Sprintf("%s %d.%d", c.door, c.number, c.turn) }

func newDriver(key string, forms []formsvc.Form, seed uint64) *driver {
	d := &driver{
		key: key, forms: forms, seed: seed,
		byForm: map[formsvc.ID]map[string]bool{}, edits: map[formsvc.ID]int{}, refusals: map[string]int{},
		last: map[string]time.Time{}, longest: map[string]time.Duration{},
	}
	for _, f := range forms {
		d.byForm[f.ID] = map[string]bool{}
	}
	return d
}

// add gives the driver a host that listens at a socket.
func (d *driver) add(socket, way string) {
	d.hosts = append(d.hosts, reached{way: way, http: &http.Client{
		Timeout: requestTimeout,
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 50,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", socket)
			},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
}

// run lets the clients work until stop ends, and then until each knows what became of its
// last turn, or ctx ends.
func (d *driver) run(ctx, stop context.Context) {
	var group sync.WaitGroup
	for _, w := range workers {
		for number := range w.count {
			c := client{door: w.door, number: number, random: rand.New(rand.NewPCG(d.seed, uint64(100*len(w.door)+number)))}
			group.Go(func() {
				for ; stop.Err() == nil; c.turn++ {
					d.turn(ctx, c, w.once)
					pause(stop, time.Duration(c.random.Int64N(int64(w.pause))))
				}
			})
		}
	}
	group.Wait()
}

// turn does a thing until it is done, at whichever host.
func (d *driver) turn(ctx context.Context, c client, once func(*driver, context.Context, client) bool) {
	for !once(d, ctx, c) {
		if ctx.Err() != nil {
			d.note(func() { d.unanswered = append(d.unanswered, c.name()) })
			return
		}
		d.note(func() { d.refusals[c.door]++ })
		pause(ctx, retryPause)
	}
	d.worked(c.door)
}

// worked notes that a door is open.
func (d *driver) worked(door string) {
	now := time.Now()
	d.note(func() {
		if before, ok := d.last[door]; ok {
			d.longest[door] = max(d.longest[door], now.Sub(before))
		}
		d.last[door] = now
	})
}

// silences returns the longest silence of each door since the last call, with the one that
// lasts.
func (d *driver) silences() map[string]time.Duration {
	now, all := time.Now(), map[string]time.Duration{}
	d.note(func() {
		for door, before := range d.last {
			all[door] = max(d.longest[door], now.Sub(before))
			d.longest[door] = 0
		}
	})
	return all
}

// wait waits until something has worked at every door from now on.
func (d *driver) wait(ctx context.Context) error {
	from := time.Now()
	return until(ctx, wellWithin, func() (err error) {
		d.note(func() {
			for _, door := range doors {
				if !d.last[door].After(from) && d.has(door) {
					err = fmt.Errorf("nothing works at the door %q", door)
				}
			}
		})
		return err
	})
}

// has reports whether there is such a door, or a host of that way.
func (d *driver) has(door string) bool {
	return door != wayDirect && door != wayPooler || slices.ContainsFunc(d.hosts, func(h reached) bool { return h.way == door })
}

func (d *driver) note(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *driver) found(kind, format string, values ...any) {
	d.note(func() {
		d.findings = append(d.findings, ledger.Finding{Kind: kind, What: fmt.Sprintf(format, values...)})
	})
}

// form is the one that a client's turn is about.
func (d *driver) form(c client) formsvc.Form { return d.forms[(c.number+c.turn)%len(d.forms)] }

// acknowledge notes what a client was told.
func (d *driver) acknowledge(form formsvc.ID, key, id string) {
	d.note(func() {
		d.acknowledged = append(d.acknowledged, ledger.Acknowledgement{Key: key, Submission: id})
		d.byForm[form][key] = true
	})
}

// fillIn opens a page, fills it in and sends it, again if nobody knows what became of it.
func (d *driver) fillIn(ctx context.Context, c client) bool {
	form, key := d.form(c), c.name()
	page := "/f/" + form.PublicID
	status, text, err := d.call(ctx, c, http.MethodGet, page, "", nil)
	if err != nil || status != http.StatusOK {
		return d.refused(c, status, text, err)
	}
	values := inputs(text)
	values.Set("a."+ledger.Block, key)
	values.Set("go", "next")
	for ctx.Err() == nil {
		status, text, err = d.call(ctx, c, http.MethodPost, page, "application/x-www-form-urlencoded", []byte(values.Encode()))
		if err == nil && status == http.StatusSeeOther {
			d.acknowledge(form.ID, key, "")
			if c.random.Float64() >= repeated {
				return true
			}
			continue // somebody clicks again
		}
		d.refused(c, status, text, err)
		d.note(func() { d.refusals[c.door]++ })
		pause(ctx, retryPause)
	}
	return false
}

// inputs are the hidden inputs of a page.
func inputs(page []byte) url.Values {
	values := url.Values{}
	for tokens := html.NewTokenizer(bytes.NewReader(page)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return values
		case html.StartTagToken, html.SelfClosingTagToken:
			attributes := map[string]string{}
			token := tokens.Token()
			for _, a := range token.Attr {
				attributes[a.Key] = a.Val
			}
			if token.Data == "input" && attributes["type"] == "hidden" {
				values.Set(attributes["name"], attributes["value"])
			}
		}
	}
}

// submit stores a response in Go.
func (d *driver) submit(ctx context.Context, c client) bool { return d.store(ctx, c, "/responses") }

// order stores a response and a row of the host's in one transaction.
func (d *driver) order(ctx context.Context, c client) bool { return d.store(ctx, c, "/orders") }

func (d *driver) store(ctx context.Context, c client, path string) bool {
	form, key := d.form(c).ID, c.name()
	body, err := json.Marshal(asked{form, key})
	if err != nil {
		panic(err) // an id and a string
	}
	for {
		status, text, err := d.call(ctx, c, http.MethodPost, path, "application/json", body)
		if err != nil || status != http.StatusOK {
			return d.refused(c, status, text, err)
		}
		d.acknowledge(form, key, string(text))
		if c.random.Float64() >= repeated {
			return true
		}
	}
}

// edit changes the name of the client's own form, and reads the form at another host.
func (d *driver) edit(ctx context.Context, c client) bool {
	form, number := d.forms[c.number].ID, c.turn+1
	path := "/v1/forms/" + form.String()
	body := fmt.Sprintf(`{"name":"edit %d"}`, number)
	status, text, err := d.call(ctx, c, http.MethodPatch, path, "application/json", []byte(body))
	if err != nil || status != http.StatusOK {
		return d.refused(c, status, text, err)
	}
	d.note(func() { d.edits[form] = number })
	status, text, err = d.call(ctx, c, http.MethodGet, path, "", nil)
	if err != nil || status != http.StatusOK {
		return d.refused(c, status, text, err)
	}
	if name := nameOf(text); name != fmt.Sprintf("edit %d", number) {
		d.found(staleRead, "%s is named %q after %s was acknowledged", form, name, body)
	}
	return true
}

func nameOf(form []byte) string {
	var f struct{ Name string }
	_ = json.Unmarshal(form, &f) // without a name it is another one
	return f.Name
}

// export reads all responses to a form. What is whole has everything that was acknowledged
// before, and nothing twice.
func (d *driver) export(ctx context.Context, c client) bool {
	form := d.form(c).ID
	var before []string
	d.note(func() {
		for key := range d.byForm[form] {
			before = append(before, key)
		}
	})
	status, text, err := d.call(ctx, c, http.MethodGet, "/exports/"+form.String()+".ndjson", "", nil)
	if err != nil || status != http.StatusOK {
		return d.refused(c, status, text, err)
	}
	times := map[string]int{}
	for line := range bytes.Lines(text) {
		var row struct{ Answers []struct{ Value string } }
		if err := json.Unmarshal(line, &row); err != nil || len(row.Answers) != 1 {
			d.found(badExport, "%s: %v: %.200s", form, err, line)
			continue
		}
		key := row.Answers[0].Value
		if times[key]++; times[key] == 2 {
			d.found(badExport, "%s has %s twice", form, key)
		}
	}
	for _, key := range before {
		if times[key] == 0 {
			d.found(badExport, "%s lacks %s, which was acknowledged before", form, key)
		}
	}
	d.note(func() { d.exports++ })
	return true
}

// call makes a request of any host.
func (d *driver) call(ctx context.Context, c client, method, path, contentType string, body []byte) (int, []byte, error) {
	host := d.hosts[c.random.IntN(len(d.hosts))]
	r, err := http.NewRequestWithContext(ctx, method, "http://host"+path, bytes.NewReader(body))
	if err != nil {
		panic(err) // the paths are ours
	}
	r.Header.Set("X-API-Key", d.key)
	r.Header.Set("User-Agent", "cluster")
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	began := time.Now()
	answer, err := host.http.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	d.note(func() { d.slowest = max(d.slowest, time.Since(began)) })
	if err == nil && method != http.MethodGet && answer.StatusCode < http.StatusBadRequest {
		d.worked(host.way)
	}
	return answer.StatusCode, text, err
}

// refused returns false, because something is not done. What no host should say is noted.
func (d *driver) refused(c client, status int, text []byte, err error) bool {
	if err == nil && status != http.StatusServiceUnavailable {
		d.found(oddAnswer, "%s: %d %.300s", c.name(), status, strings.TrimSpace(string(text)))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		d.found(noAnswer, "%s: %v", c.name(), err)
	}
	return false
}

// until asks again and again, for as long as patience lasts, until there is no error.
func until(ctx context.Context, patience time.Duration, ok func() error) error {
	for began := time.Now(); ; pause(ctx, 100*time.Millisecond) {
		err := ok()
		if err == nil {
			return ctx.Err()
		}
		if time.Since(began) > patience || ctx.Err() != nil {
			return fmt.Errorf("after %s: %w", patience, err)
		}
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
