package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// step is one operation: a request of the API, or a Go call when method is "".
type step struct {
	user    int    // whose key
	limited bool   // the key that may only read forms
	method  string // of a request
	path    string
	body    string
	ifMatch string

	name string // of a Go call
	call func(svc *formsvc.Service) (any, error)
}

func (s step) String() string {
	if s.call != nil {
		return s.name
	}
	return fmt.Sprintf("user %d (limited %v): %s %s If-Match %q\n%s", s.user, s.limited, s.method, s.path, s.ifMatch, s.body)
}

// outcome is what a door answered, with all that the doors must agree on.
type outcome struct {
	status int
	header string
	body   string
}

// door is one way into a service. Doors that are given the same steps give the same
// outcomes.
type door interface {
	do(n int, s step) outcome
}

const differentialUsers = 3

// background is the context of the Go calls.
var background = context.Background()

// httpDoor is a service on some storage, used through its handler and its Go calls.
type httpDoor struct {
	t    *testing.T
	svc  *formsvc.Service
	keys [differentialUsers][2]string // of all scopes, and of forms:read
}

// newHTTPDoor makes a service whose ids and times are those of every other door. The test is not
// parallel yet: nobody else makes ids out of the same random numbers.
func newHTTPDoor(t *testing.T, store storage.Storage, now *servicetest.Clock) *httpDoor {
	t.Helper()
	d := &httpDoor{t: t}
	t.Run("a service of the same ids", func(same *testing.T) {
		cryptotest.SetGlobalRandom(same, 7)
		d.svc = servicetest.New(t, store, formsvc.WithClock(now.Now), formsvc.WithoutRateLimit(), servicetest.Loopback(),
			formsvc.WithLimits(formsvc.Limits{Workspaces: 6, Webhooks: 3}))
	})
	for user := range d.keys {
		for i, scopes := range [][]formsvc.Scope{storage.Scopes(), {storage.ScopeFormsRead}} {
			issued := expect.Must(d.svc.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: differentialUser(user), Name: "User"}, Name: "k", Scopes: scopes}))
			d.keys[user][i] = issued.Secret
		}
	}
	return d
}

func differentialUser(n int) formsvc.ID { return formsvc.UserIDFrom("user " + strconv.Itoa(n)) }

var publicIDs = regexp.MustCompile(`"(public_id|PublicID)":"[0-9A-Za-z]{12}"`)

func (d *httpDoor) do(n int, s step) outcome {
	if s.call != nil {
		value, err := s.call(d.svc)
		if err != nil {
			return outcome{body: errorClass(err)}
		}
		text, err := json.Marshal(value)
		expect.NoError(d.t, err)
		return outcome{body: publicIDs.ReplaceAllString(string(text), `"$1":""`)}
	}
	r := httptest.NewRequest(s.method, "/v1"+s.path, strings.NewReader(s.body))
	key := 0
	if s.limited {
		key = 1
	}
	r.Header.Set("X-API-Key", d.keys[s.user][key])
	r.Header.Set("X-Request-ID", "step-"+strconv.Itoa(n))
	if s.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if s.ifMatch != "" {
		r.Header.Set("If-Match", s.ifMatch)
	}
	w := httptest.NewRecorder()
	servicetest.Serve(d.t, d.svc, w, r)
	var header strings.Builder
	expect.NoError(d.t, w.Header().Write(&header))
	return outcome{w.Code, header.String(), publicIDs.ReplaceAllString(w.Body.String(), `"$1":""`)}
}

// errorClass is what a host can tell of an error.
func errorClass(err error) string {
	var faults *schema.Error
	if errors.As(err, &faults) {
		return fmt.Sprintf("faults %v", faults.Violations)
	}
	for _, class := range []error{formsvc.ErrNotFound, formsvc.ErrConflict, formsvc.ErrDuplicate, formsvc.ErrLimitReached, formsvc.ErrClosed, formsvc.ErrAlreadySubmitted} {
		if errors.Is(err, class) {
			return class.Error()
		}
	}
	return "another error: " + err.Error()
}

// script makes random steps out of what earlier ones brought to light.
type stepScript struct {
	random                                   *rand.Rand
	now                                      *servicetest.Clock
	workspaces, forms, webhooks, submissions []string
	etags                                    []string
	cursors                                  []string                       // whole paths
	forClient                                bool                           // no step succeeds that the client cannot take
	halfOf                                   [3]formsvc.ID                  // the form of each half response
	tokens                                   map[*formsvc.Service][3]string // of half responses: each door has its own
}

func newStepScript(seed uint64, now *servicetest.Clock) *stepScript {
	return &stepScript{random: rand.New(rand.NewPCG(seed, 0)), now: now, tokens: map[*formsvc.Service][3]string{}}
}

// keep adds a value to a short list of which old ones are forgotten.
func keep(random *rand.Rand, list *[]string, value string) {
	const most = 12
	switch {
	case value == "" || slices.Contains(*list, value):
	case len(*list) < most:
		*list = append(*list, value)
	default:
		(*list)[random.IntN(most)] = value
	}
}

// learn takes ids, tags and cursors out of an answer.
func (s *stepScript) learn(done step, o outcome) {
	var body struct {
		ID    string
		Items []struct{ ID string }
		Page  struct {
			Next string `json:"next_cursor"`
		}
	}
	_ = json.Unmarshal([]byte(o.body), &body) // some answers are no objects
	lists := map[string]*[]string{"/workspaces": &s.workspaces, "/forms": &s.forms, "/webhooks": &s.webhooks}
	path, _, _ := strings.Cut(done.path, "?")
	if list := lists[path]; list != nil && o.status == http.StatusCreated {
		keep(s.random, list, body.ID)
	}
	if strings.HasSuffix(path, "/submissions") {
		for _, item := range body.Items {
			keep(s.random, &s.submissions, path+"/"+item.ID)
		}
	}
	if body.Page.Next != "" {
		next := done.path + "&cursor=" + body.Page.Next
		if !strings.Contains(done.path, "?") {
			next = done.path + "?cursor=" + body.Page.Next
		}
		if !strings.Contains(done.path, "cursor=") {
			keep(s.random, &s.cursors, next)
		}
	}
	for line := range strings.Lines(o.header) {
		if tag, ok := strings.CutPrefix(strings.TrimSpace(line), "Etag: "); ok {
			keep(s.random, &s.etags, tag)
		}
	}
}

func (s *stepScript) one(list []string) string {
	if len(list) == 0 || s.random.IntN(25) == 0 {
		return pick(s.random, "0123456789abcdef01234567", "nonsense", storage.ID{}.String())
	}
	return pick(s.random, list...)
}

func (s *stepScript) id(list []string) formsvc.ID {
	id, err := storage.ParseID(s.one(list))
	if err != nil {
		return formsvc.ID{}
	}
	return id
}

func (s *stepScript) match() string {
	if s.random.IntN(3) > 0 {
		return ""
	}
	if len(s.etags) > 0 && s.random.IntN(4) > 0 {
		return pick(s.random, s.etags...)
	}
	if s.forClient {
		return pick(s.random, "*", `"stale"`, `"r1"`, "malformed")
	}
	return pick(s.random, "*", `"stale"`, `"r1", "r2"`, "malformed")
}

const differentialBlocks = `[{"id":"name","type":"short_text","label":"Name","properties":{"rule":{"next":[{"if":{"==":[{"var":"answers.name"},"Bob"]},"to":"pick"}]}}},{"id":"n","type":"number","properties":{"min":0,"minVal":true}},{"id":"pick","type":"single_choice","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"}]}]`

// next makes a step, and now and then lets time pass.
func (s *stepScript) next() step {
	if s.random.IntN(3) == 0 {
		s.now.Advance(time.Duration(1+s.random.IntN(3)) * time.Second)
	}
	if s.random.IntN(60) == 0 {
		s.now.Advance(time.Duration(s.random.IntN(40)) * time.Hour)
	}
	if s.random.IntN(4) == 0 {
		return s.goCall()
	}
	q := step{user: s.random.IntN(differentialUsers), limited: s.random.IntN(30) == 0}
	request := func(method, path, body string) step {
		q.method, q.path, q.body = method, path, body
		return q
	}
	workspace, form, webhook := "/workspaces/"+s.one(s.workspaces), "/forms/"+s.one(s.forms), "/webhooks/"+s.one(s.webhooks)
	name := pick(s.random, `"A"`, `"  trimmed "`, `"é 漢字 🙂"`, `""`, `" "`, `null`, `7`, `"`+strings.Repeat("n", 121)+`"`, `"B"`, `"C"`)
	limit := pick(s.random, "", "?limit=1", "?limit=2", "?limit=3", "?limit=100", "?limit=0", "?limit=x")
	settings := pick(s.random, `{}`, `{"responseLimit":3}`, `{"closed":true}`, `{"closeAt":"2026-12-01T00:00:00Z"}`, `{"duplicateField":"name"}`, `{"responseLimit":-1}`)
	block := `{"id":` + pick(s.random, `"x"`, `"y"`, `"name"`, `"n"`, `"a/b"`, `""`) + `,"label":` + name + pick(s.random, ``, `,"type":"email"`, `,"properties":{"maxChars":3}`, `,"choices":[{"id":"q"}]`) + `}`
	switch s.random.IntN(32) {
	case 0:
		return request("GET", "/workspaces"+limit, "")
	case 1, 2:
		return request("POST", "/workspaces", `{"name":`+name+`}`)
	case 3:
		return request("GET", workspace, "")
	case 4:
		return request("PATCH", workspace, `{"name":`+name+`}`)
	case 5:
		if s.random.IntN(4) == 0 {
			return request("DELETE", workspace, "")
		}
		return request("GET", workspace, "")
	case 6:
		return request("GET", "/forms"+pick(s.random, limit, "?workspace_id="+s.one(s.workspaces), "?limit=2&workspace_id="+s.one(s.workspaces)), "")
	case 7, 8, 9:
		return request("POST", "/forms", `{"workspace_id":"`+s.one(s.workspaces)+`","name":`+name+`,"definition":{"blocks":`+differentialBlocks+`,"settings":`+settings+`}}`)
	case 10:
		return request("GET", form, "")
	case 11, 12:
		q.ifMatch = s.match()
		return request("PATCH", form, `{"status":`+pick(s.random, `"published"`, `"published"`, `"draft"`, `"gone"`)+`}`)
	case 13:
		q.ifMatch = s.match()
		return request("PATCH", form, `{"name":`+name+`,"definition":{"settings":`+settings+`}}`)
	case 14:
		q.ifMatch = s.match()
		return request("PATCH", form, `{"workspace_id":"`+s.one(s.workspaces)+`"`+pick(s.random, ``, `,"definition":{"hidden_fields":["ref"]}`, `,"definition":{"blocks":[{"id":"name"}]}`)+`}`)
	case 15:
		q.ifMatch = s.match()
		if s.random.IntN(3) == 0 {
			return request("DELETE", form, "")
		}
		return request("HEAD", form, "")
	case 16:
		return request("GET", form+pick(s.random, "/blocks", "/questions", "/blocks/name", "/blocks/a%2Fb", "/blocks/none"), "")
	case 17, 18:
		q.ifMatch = s.match()
		return request("POST", form+"/blocks", `{"block":`+block+`}`)
	case 19:
		q.ifMatch = s.match()
		return request("PUT", form+"/blocks", `{"blocks":[`+block+`,{"id":"name"},{"id":"pick"}]}`)
	case 20:
		q.ifMatch = s.match()
		return request("PATCH", form+"/blocks/"+pick(s.random, "name", "x", "n", "none"), `{"block":`+pick(s.random, `{"label":`+name+`}`, `{"properties":null}`, `{"id":"other"}`, `{"type":"group","children":[{"id":"in"}]}`)+`}`)
	case 21:
		q.ifMatch = s.match()
		return request("DELETE", form+"/blocks/"+pick(s.random, "name", "x", "y", "a%2Fb", "none"), "")
	case 22, 23:
		return request("GET", form+"/submissions"+pick(s.random, limit, "?since=2026-11-20T08:33:01Z", "?until=2026-11-22T00:00:00%2B01:00&limit=2", "?since=2027-01-01T00:00:00Z&until=2026-01-01T00:00:00Z"), "")
	case 24:
		path := form + "/submissions/0123456789abcdef01234567"
		if len(s.submissions) > 0 {
			path = pick(s.random, s.submissions...)
		}
		return request(pick(s.random, "GET", "GET", "DELETE"), path, "")
	case 25, 26:
		return request("GET", form+"/analytics/metrics"+pick(s.random, "", "?period=today", "?period=yesterday", "?period=24h", "?period=7d", "?period=3m", "?period=all", "?period=x", "?period=7d;x"), "")
	case 27, 28:
		return request("POST", "/webhooks", `{"form_id":"`+s.one(s.forms)+`","url":"`+pick(s.random, "http://127.0.0.1:8099/hook", "http://127.0.0.1:8099/other", "http://10.0.0.1/", "ftp://example.com/")+`"`+pick(s.random, ``, `,"enabled":false`, `,"signing_secret":"0123456789abcdef"`, `,"signing_secret":"short"`)+`}`)
	case 29:
		return request("PATCH", webhook, pick(s.random, `{"enabled":false}`, `{"enabled":true}`, `{"signing_secret":null}`, `{"signing_secret":"fedcba9876543210"}`, `{"url":"http://127.0.0.1:8099/new"}`, `{}`))
	case 30:
		return request(pick(s.random, "GET", "GET", "DELETE"), webhook+pick(s.random, "", "/deliveries"), "")
	}
	if len(s.cursors) > 0 {
		return request("GET", pick(s.random, s.cursors...), "")
	}
	return request("GET", "/webhooks", "")
}

// goCall is a call that the API does not offer.
func (s *stepScript) goCall() step {
	form, workspace, webhook, user := s.id(s.forms), s.id(s.workspaces), s.id(s.webhooks), differentialUser(s.random.IntN(differentialUsers))
	named := func(name string, call func(svc *formsvc.Service) (any, error), args ...any) step {
		return step{name: fmt.Sprintf("%s%v", name, args), call: call}
	}
	// A form that goes to the trash before its views are written has none: metrics write them.
	visit := func(name string, record func(*formsvc.Service, context.Context, formsvc.ID) error) step {
		return named(name, func(svc *formsvc.Service) (any, error) {
			if err := record(svc, background, form); err != nil {
				return nil, err
			}
			return svc.AsHost().Metrics(background, form, formsvc.PeriodAll)
		}, form)
	}
	if s.random.IntN(3) == 0 {
		return s.halfResponse(form)
	}
	switch s.random.IntN(17) {
	case 0:
		return visit("RecordView", (*formsvc.Service).RecordView)
	case 1:
		return visit("RecordStart", (*formsvc.Service).RecordStart)
	case 2:
		return named("AddMember", func(svc *formsvc.Service) (any, error) { return nil, svc.AddMember(background, workspace, user) }, workspace, user)
	case 3:
		return named("RemoveMember", func(svc *formsvc.Service) (any, error) { return nil, svc.RemoveMember(background, workspace, user) }, workspace, user)
	case 4:
		return named("Members", func(svc *formsvc.Service) (any, error) { return svc.Members(background, workspace) }, workspace)
	case 5:
		return named("TransferWorkspace", func(svc *formsvc.Service) (any, error) {
			return nil, svc.TransferWorkspace(background, workspace, user)
		}, workspace, user)
	case 6:
		return named("TrashedForms", func(svc *formsvc.Service) (any, error) { return svc.TrashedForms(background, workspace) }, workspace)
	case 7:
		into := pick(s.random, formsvc.ID{}, workspace)
		return named("RestoreForm", func(svc *formsvc.Service) (any, error) { return nil, svc.RestoreForm(background, form, into) }, form, into)
	case 8:
		if s.random.IntN(10) > 0 {
			break
		}
		before := s.now.Now().Add(-time.Hour)
		return named("PurgeTrash", func(svc *formsvc.Service) (any, error) { return svc.PurgeTrash(background, before) }, before)
	case 9:
		counters := formsvc.Counters{Views: int64(s.random.IntN(3)), Starts: int64(s.random.IntN(3)), Submissions: int64(s.random.IntN(3))}
		return named("SetLifetimeCounters", func(svc *formsvc.Service) (any, error) {
			return nil, svc.SetLifetimeCounters(background, form, counters)
		}, form, counters)
	case 10:
		return named("SendTestEvent", func(svc *formsvc.Service) (any, error) { return nil, svc.SendTestEvent(background, webhook) }, webhook)
	case 14, 15, 16:
		return s.update(named)
	}
	r := formsvc.SubmitParams{
		FormID: form, Answers: servicetest.Answers("name", pick(s.random, `"Ann"`, `"ann"`, `"Bob"`, `"Cy"`, `7`)), CompletionTime: float64(s.random.IntN(100)),
		IdempotencyKey: pick(s.random, "", "", "once", "twice"), Hidden: map[string]string{"ref": "mail"}, Metadata: formsvc.Metadata{Country: "DE"},
	}
	if s.random.IntN(3) == 0 {
		maps.Copy(r.Answers, servicetest.Answers("pick", pick(s.random, `"a"`, `"b"`, `"none"`), "n", pick(s.random, `1`, `-1`)))
	}
	return named("Submit", func(svc *formsvc.Service) (any, error) { return svc.Submit(background, r) }, form, r)
}

// update changes a submission and reads its history.
func (s *stepScript) update(named func(string, func(*formsvc.Service) (any, error), ...any) step) step {
	path := strings.Split(s.one(s.submissions), "/") // as in /forms/{form}/submissions/{submission}
	if len(path) != 5 {
		path = []string{"", "", s.one(s.forms), "", storage.ID{}.String()}
	}
	form, id := s.id(path[2:3]), s.id(path[4:])
	change := formsvc.SubmissionChange{
		Answers:      servicetest.Answers(pick(s.random, "name", "n", "gone"), pick(s.random, `"Ann"`, `"Cy"`, `5`, `null`)),
		ByRespondent: s.random.IntN(2) == 0,
	}
	revision := formsvc.IfRevision(int64(s.random.IntN(3)))
	return named("UpdateSubmission", func(svc *formsvc.Service) (any, error) {
		changed, err := svc.AsHost().UpdateSubmission(background, form, id, change, revision)
		if err != nil {
			return nil, err
		}
		history, err := svc.AsHost().SubmissionHistory(background, form, id)
		return []any{changed, history}, err
	}, form, id, change, revision)
}

// halfResponse is a call about one of a few half responses.
func (s *stepScript) halfResponse(form formsvc.ID) step {
	slot, revision := s.random.IntN(3), int64(s.random.IntN(6))
	fresh := s.random.IntN(4) == 0 || s.halfOf[slot].IsZero()
	if fresh {
		s.halfOf[slot] = form
	} else if s.random.IntN(10) > 0 {
		form = s.halfOf[slot]
	}
	name := pick(s.random, `"Ann"`, `"Bob"`, `7`, `{"a":1.0}`)
	answers := servicetest.Answers("name", name, "pick", pick(s.random, `"a"`, `null`), pick(s.random, "x", "n"), `1`)
	share := s.random.IntN(2) == 0
	kind := s.random.IntN(16)
	if fresh {
		kind = 0
	}
	call := func(svc *formsvc.Service) (any, error) {
		tokens := s.tokens[svc]
		switch kind {
		case 0, 1, 2, 3:
			r := formsvc.PartialSubmission{FormID: form, Token: tokens[slot], Answers: answers, Block: "n", Seconds: 2, ShareWithOwner: share, Revision: revision / 2}
			if fresh { // of a form that takes responses, if it can be made one
				r.Token = ""
				_ = svc.RestoreForm(background, form, formsvc.ID{})
				published := formsvc.StatusPublished
				_, _ = svc.AsHost().UpdateForm(background, form, formsvc.FormUpdate{Status: &published, Definition: formsvc.Definition{Settings: json.RawMessage(`{}`)}})
			}
			token, dropped, err := svc.SavePartial(background, r)
			if err == nil {
				tokens[slot] = token
				s.tokens[svc] = tokens
			}
			return dropped, err
		case 4, 5, 14, 15:
			r, err := svc.ResumePartial(background, form, tokens[slot])
			if errors.Is(err, formsvc.ErrAlreadySubmitted) {
				err = nil
			}
			r.Token = ""
			return r, err
		case 6, 12, 13:
			return svc.Submit(background, formsvc.SubmitParams{FormID: form, Partial: tokens[slot]})
		case 7:
			return nil, svc.DeletePartial(background, form, tokens[slot])
		case 8:
			return svc.EraseRespondent(background, form, map[string]string{"name": "ann"})
		case 9:
			return svc.PurgeSubmissions(background, s.now.Now().Add(-2*time.Hour), form)
		}
		var all []formsvc.Partial
		for p, err := range svc.AsHost().Partials(background, form, formsvc.Query{}) {
			if err != nil {
				return nil, err
			}
			all = append(all, p)
		}
		if kind == 10 && len(all) > 0 {
			return nil, svc.AsHost().DeletePartial(background, form, all[len(all)-1].ID)
		}
		return all, nil
	}
	return step{name: fmt.Sprintf("half response %d of %s: call %d with %v, %v, %d, %s", slot, form, kind, share, fresh, revision, answers), call: call}
}

// The same random operations on both storages have the same outcomes, to the byte.
// FORMSVC_STEPS sets how many.
func TestBothStoragesAgreeOnEverything(t *testing.T) {
	total, seed := 1200, uint64(1)
	if n, err := strconv.Atoi(testSteps()); err == nil {
		total, seed = n, uint64(time.Now().UnixNano())
	}
	t.Logf("%d steps of the seed %d", total, seed)
	now := servicetest.NewClock(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
	all := servicetest.Stores(t)
	doors := []door{newHTTPDoor(t, all["memory"], now), newHTTPDoor(t, all["postgres"], now)}
	t.Parallel()
	seen, disagreement := compare(doors, newStepScript(seed, now), total)
	expect.Require(t, disagreement == "", "%v", disagreement)
	t.Logf("outcomes %v", seen)
	for _, status := range []int{0, 200, 201, 204, 403, 404, 409, 412, 422} {
		expect.That(t, seen[status] != 0, "no step was answered with %d: %v", status, seen)
	}
}

// testSteps is the number of steps of a run by hand, or "".
func testSteps() string { return os.Getenv("FORMSVC_STEPS") }

// compare takes steps through all doors until two disagree. It counts the statuses;
// 0 is a Go call.
func compare(doors []door, script *stepScript, total int) (seen map[int]int, disagreement string) {
	seen = map[int]int{}
	for n := range total {
		s := script.next()
		first := doors[0].do(n, s)
		for i, d := range doors[1:] {
			if other := d.do(n, s); other != first && other != skipped {
				return seen, fmt.Sprintf("step %d: %s\nthe first door: %d %s\n%s\ndoor %d: %d %s\n%s",
					n, s, first.status, first.body, first.header, i+2, other.status, other.body, other.header)
			}
		}
		script.learn(s, first)
		seen[first.status]++
	}
	return seen, ""
}

// The comparison is worth what it sees.
func TestADisagreementIsSeen(t *testing.T) {
	type pair struct {
		doors []door
		now   *servicetest.Clock
	}
	pairs := map[string]pair{}
	for name, broken := range map[string]storage.Storage{
		"a deletion that deletes nothing": keepsSubmissions{memory.New()},
		"a list in another order":         reversesForms{memory.New()},
		"a count that is lost":            losesViews{memory.New()},
		"a half response that is kept":    keepsPartials{memory.New()},
	} {
		now := servicetest.NewClock(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC))
		pairs[name] = pair{[]door{newHTTPDoor(t, memory.New(), now), newHTTPDoor(t, broken, now)}, now}
	}
	t.Parallel()
	for name, p := range pairs {
		_, disagreement := compare(p.doors, newStepScript(1, p.now), 2000)
		expect.That(t, disagreement != "", "%s is not seen", name)
	}
}

type keepsSubmissions struct{ storage.Storage }

func (s keepsSubmissions) DeleteSubmission(ctx context.Context, who storage.Actor, form, id storage.ID) error {
	_, err := s.Submission(ctx, who, form, id)
	return err
}

type reversesForms struct{ storage.Storage }

func (s reversesForms) Forms(ctx context.Context, who storage.Actor, q storage.FormsParams) ([]storage.Form, error) {
	found, err := s.Storage.Forms(ctx, who, q)
	slices.Reverse(found)
	return found, err
}

type losesViews struct{ storage.Storage }

func (s losesViews) CountFunnel(ctx context.Context, counts []storage.FunnelCount) error {
	counts = slices.Clone(counts)
	for i := range counts {
		counts[i].Views = 0
	}
	return s.Storage.CountFunnel(ctx, counts)
}

type keepsPartials struct{ storage.Storage }

func (s keepsPartials) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	n.Partial = [32]byte{}
	return s.Storage.Submit(ctx, n)
}
