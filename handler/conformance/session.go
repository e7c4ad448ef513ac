package conformance

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// session is one case while it runs: it makes users, keeps the secrets that must
// not appear anywhere, and collects faults. Everything but fail, stop and do may
// be used from several goroutines.
type session struct {
	ctx context.Context
	*runner

	closers []func() // run when the case has ended

	mu      sync.Mutex
	secrets []string
	faults  []string
	broken  bool
	skipped string   // why the case cannot be judged here
	made    []string // ids of what the case has created
	rooms   []string // paths of the workspaces among them
}

func newSession(ctx context.Context, r *runner) *session {
	return &session{ctx: ctx, runner: r}
}

// stopped is panicked with by a case that cannot go on.
type stopped struct{}

// do runs a case, or a part of one in a goroutine of its own, to its end. A panic
// that is not ours is a fault of the suite.
func (s *session) do(run func(*session)) {
	defer func() {
		switch cause := recover().(type) {
		case nil, stopped:
		default:
			s.breaks("the suite panicked: %v\n%s", cause, debug.Stack())
		}
	}()
	run(s)
}

// outcome returns what became of the case, why it was skipped, and its faults.
func (s *session) outcome() (Outcome, string, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.broken:
		return Broken, "", s.faults
	case len(s.faults) > 0:
		return Failed, "", s.faults
	case s.skipped != "":
		return Skipped, s.skipped, nil
	}
	return Passed, "", nil
}

// skip ends the case because this target does not let the suite judge it.
func (s *session) skip(format string, args ...any) {
	s.mu.Lock()
	s.skipped = fmt.Sprintf(format, args...)
	s.mu.Unlock()
	panic(stopped{})
}

// maxFaults bounds how many faults a case reports: later faults are repetitions.
const maxFaults = 20

// errorf notes a fault of the service and goes on.
func (s *session) errorf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := s.redact(fmt.Sprintf(format, args...))
	if len(s.faults) < maxFaults && !slices.Contains(s.faults, fault) {
		s.faults = append(s.faults, fault)
	}
}

// fatalf notes a fault of the service and ends the case.
func (s *session) fatalf(format string, args ...any) {
	s.errorf(format, args...)
	panic(stopped{})
}

// breaks notes that the suite cannot go on, and that the service's answers are not the
// reason.
func (s *session) breaks(format string, args ...any) {
	s.mu.Lock()
	s.broken = true
	s.mu.Unlock()
	s.errorf("suite: "+format, args...)
}

// must ends the case as broken when a function of the target failed.
func (s *session) must(what string, err error) {
	if err != nil {
		s.breaks("%s: %v", what, err)
		panic(stopped{})
	}
}

// keepSecret makes a text unreadable in faults and forbidden in answers.
func (s *session) keepSecret(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets = append(s.secrets, secret)
}

// redact is called with the lock held.
func (s *session) redact(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}

// leaks reports whether a text contains a secret of this case.
func (s *session) leaks(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.secrets, func(secret string) bool { return strings.Contains(text, secret) })
}

// parallel runs n copies at once and waits for them. A copy that stops stops
// alone; the case stops afterwards when there was a fault.
func (s *session) parallel(n int, run func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			s.do(func(*session) { run(i) })
		})
	}
	close(start)
	wg.Wait()
	if outcome, _, _ := s.outcome(); outcome != Passed {
		panic(stopped{})
	}
}

// pause waits, or ends the case when its time is up.
func (s *session) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.ctx.Done():
		s.must("waiting", s.ctx.Err())
	}
}

// newID makes an id that nothing has.
func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// newSecret makes a signing secret and keeps it.
func (s *session) newSecret() string {
	secret := "signing-" + newID() + newID()
	s.keepSecret(secret)
	return secret
}

// caller is a user with one of its keys.
type caller struct {
	*session
	user string
	key  string
}

// scopes are all that the operations need, in alphabetical order.
func scopes() []string {
	var needed []string
	for _, o := range operations() {
		if o.scope != "" {
			needed = append(needed, o.scope)
		}
	}
	slices.Sort(needed)
	return slices.Compact(needed)
}

// caller makes a new user with a key of all scopes. With a target that has nothing but
// a key, user returns the user of the key each time.
func (s *session) caller() *caller {
	if s.target.CreateKey == nil {
		return s.holder()
	}
	return s.callerFor(newID(), scopes())
}

// holder is the user of the target's only key. Who that is, the first case asks for all.
func (s *session) holder() *caller {
	s.keepSecret(s.target.Key)
	c := &caller{session: s, key: s.target.Key}
	s.holding.Lock()
	defer s.holding.Unlock()
	if s.holderID == "" {
		me := c.get("/me").want(http.StatusOK).object()
		has, _ := me["scopes"].([]any)
		for _, scope := range scopes() {
			if !slices.Contains(has, any(scope)) {
				s.must("Key", fmt.Errorf("the key lacks the scope %s, but the suite needs all scopes", scope))
			}
		}
		s.holderID = text(me, "id")
	}
	c.user = s.holderID
	return c
}

// noteMade remembers what the case has created.
func (s *session) noteMade(r *response) {
	if r.request.method != http.MethodPost || r.status != http.StatusCreated {
		return
	}
	o, _ := decode(r.body).(object)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made = append(s.made, text(o, "id"))
	if r.path() == "/workspaces" {
		s.rooms = append(s.rooms, "/workspaces/"+text(o, "id"))
	}
}

// tidy closes what the case has opened. It deletes the workspaces that the case made for a
// user who is not the case's own, and with them their forms.
func (s *session) tidy() {
	for _, c := range s.closers {
		c()
	}
	if s.target.CreateKey != nil {
		return
	}
	s.mu.Lock()
	rooms := s.rooms
	s.mu.Unlock()
	for _, path := range rooms {
		s.do(func(*session) {
			c := &caller{session: s, key: s.target.Key}
			if r := c.delete(path); r.status != http.StatusNoContent && r.status != http.StatusNotFound {
				r.faultf("failed to delete a workspace of the case")
			}
		})
	}
}

// callerFor makes a key for a user.
func (s *session) callerFor(user string, scopes []string) *caller {
	key, err := s.target.CreateKey(s.ctx, user, scopes)
	s.must("CreateKey", err)
	s.keepSecret(key)
	return &caller{s, user, key}
}

// withScopes is the same user with another key.
func (c *caller) withScopes(scopes ...string) *caller {
	return c.callerFor(c.user, scopes)
}

// submit stores a response and returns its id.
func (s *session) submit(r Response) string {
	id, err := s.target.Submit(s.ctx, r)
	s.must("Submit", err)
	return id
}

// raw is the JSON of a value.
func raw(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // the suite's own values can be marshaled
	}
	return b
}
