package submitdiff

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

// begin is before the time of any server. Times of the server are not compared.
var begin = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// The first byte of every id says whether it belongs to a shared form.
const (
	own    byte = 0x01
	shared byte = 0xff
)

func newID(of byte, caller, number int) storage.ID {
	id := storage.ID{of, of, of, of, byte(caller)}
	binary.BigEndian.PutUint32(id[8:], uint32(number))
	return id
}

// user returns the owner of a workspace, both of which have the same id.
func user(number int) storage.ID { return newID(own, 0xff, number%2) }

// The shared forms.
const (
	openForm = iota
	limitedForm
	uniqueForm
	sharedForms
)

func sharedFormID(number int) storage.ID { return newID(shared, 0, 1+number) }

// sharedLimit is the response limit of limitedForm.
const sharedLimit = 30

// form is what a caller knows of a form.
type form struct {
	storage.Form
	webhooks, submissions, events []storage.ID
	tokens                        [][32]byte
}

func newForm(id storage.ID, workspace int, gate storage.AcceptanceRules) *form {
	section := json.RawMessage(`{}`)
	return &form{webhooks: []storage.ID{id}, Form: storage.Form{
		ID: id, PublicID: "f" + id.String(), WorkspaceID: user(workspace),
		Status: storage.StatusPublished, Revision: 1, Acceptance: gate, CreatedAt: begin, UpdatedAt: begin,
		FormContent: storage.FormContent{Name: "Compared", Type: "SINGLE", Definition: storage.Definition{
			Blocks: json.RawMessage(`[]`), HiddenFields: json.RawMessage(`[]`), Settings: section, Theme: section, Variables: section, Format: 1,
		}},
	}}
}

func newWebhook(f *form, id storage.ID) storage.NewWebhook {
	return storage.NewWebhook{Webhook: storage.Webhook{
		ID: id, FormID: f.ID, URL: "https://" + id.String() + ".example/", Enabled: true, CreatedAt: begin, UpdatedAt: begin,
	}}
}

// caller runs operations one after another.
type caller struct {
	store   *postgres.Store
	random  *rand.Rand
	number  int
	made    int // ids
	step    int
	faulty  bool // some operations make the statement of their batch fail
	forms   []*form
	shared  []*form
	results []string
	acks    []ledger.Acknowledgement
	limited int // submissions to limitedForm
}

func (c *caller) newID(of byte) storage.ID {
	c.made++
	return newID(of, c.number, c.made)
}

func (c *caller) gate() storage.AcceptanceRules {
	g := storage.AcceptanceRules{Closed: c.chance(10), ResponseLimit: pick(c, []int64{0, 0, 3, 15})}
	if c.chance(50) {
		g.Unique = storage.UniqueField{Block: pick(c, []string{"q1", "q2"}), Rules: 1}
	}
	return g
}

// chance is true in so many of a hundred cases.
func (c *caller) chance(percent int) bool { return c.random.IntN(100) < percent }

// pick returns one of the values, or the zero value if there is none.
func pick[T any](c *caller, of []T) (one T) {
	if len(of) > 0 {
		one = of[c.random.IntN(len(of))]
	}
	return one
}

func (c *caller) now() time.Time { return begin.Add(time.Duration(c.step) * 7 * time.Second) }

func (c *caller) key() string { return fmt.Sprint("key-", c.random.IntN(12)) }

func (c *caller) act(ctx context.Context) {
	f, who := pick(c, c.forms), storage.As(user(c.random.IntN(2)))
	switch n := c.random.IntN(100); {
	case n < 45:
		c.submit(ctx, f)
	case n < 57:
		c.submitShared(ctx)
	case n < 70:
		c.savePartial(ctx, f)
	case n < 75:
		c.update(ctx, f)
	case n < 78:
		c.changeWebhooks(ctx, f)
	case n < 80:
		c.tell("trash", nil, c.store.TrashForm(ctx, who, f.ID, storage.TrashParams{At: c.now()}))
	case n < 84:
		c.tell("restore", nil, c.store.RestoreForm(ctx, f.ID, storage.ID{}, c.now()))
	case n < 87:
		c.tell("delete", nil, c.store.DeleteSubmission(ctx, who, f.ID, pick(c, f.submissions)))
	case n < 91:
		found, err := c.store.FormByPublicID(ctx, f.PublicID)
		c.tell("form", fieldsOf(found), err)
	case n < 93:
		_, err := c.store.FormByPublicID(ctx, pick(c, c.shared).PublicID)
		c.tell("shared form", nil, err)
	default:
		found, err := c.store.Partial(ctx, f.ID, pick(c, f.tokens), c.now())
		c.tell("partial", found, err)
	}
}

func (c *caller) update(ctx context.Context, f *form) {
	change := storage.FormChange{At: c.now(), Acceptance: new(c.gate())}
	if c.chance(50) {
		change.Acceptance, change.Status = nil, new(pick(c, []string{storage.StatusDraft, storage.StatusPublished, storage.StatusPublished}))
	}
	changed, err := c.store.UpdateForm(ctx, storage.AsHost(), f.ID, change)
	c.tell("update", fieldsOf(changed), err)
	if err == nil {
		f.Form = changed
	}
}

func (c *caller) submission(f *form, of byte, answer string) storage.NewSubmission {
	id := c.newID(of)
	return storage.NewSubmission{
		FormRevision: f.Revision, Event: storage.Event{ID: id, Type: "form.response.completed", Body: []byte(id.String())},
		Submission: storage.Submission{
			ID: id, FormID: f.ID, SubmittedAt: c.now(), CompletionTime: float64(c.step),
			Answers:  fmt.Appendf(nil, `[{"field":%q,"value":%q}]`, ledger.Block, answer),
			Metadata: json.RawMessage(`{}`), Hidden: json.RawMessage(`{"h":"1"}`),
		},
	}
}

func (c *caller) submit(ctx context.Context, f *form) {
	n := c.submission(f, own, "own")
	if c.chance(30) {
		n.IdempotencyKey = c.key()
	}
	if f.Acceptance.Unique.Block != "" && c.chance(80) || c.chance(3) {
		answer := sha256.Sum256([]byte{byte(c.random.IntN(40))})
		n.UniqueField, n.UniqueAnswer = f.Acceptance.Unique, answer[:]
	}
	if c.chance(5) {
		n.FormRevision = max(1, n.FormRevision-1)
	}
	if c.chance(25) {
		n.Partial = pick(c, f.tokens)
	}
	if c.chance(15) {
		n.Event = storage.Event{}
	}
	var sent handOver
	if c.faulty {
		c.breakBatch(f, &n)
	} else if c.chance(50) { // no batch fails in this round: one that fails leases nothing
		sent.webhooks = f.webhooks
		n.Dispatcher = &sent
	}
	stored, replayed, err := c.store.Submit(ctx, n)
	c.tell("submit", []any{stored, replayed, sent.told, sent.reserved}, err)
	if err == nil && !replayed {
		f.submissions, f.events = append(f.submissions, stored.ID), append(f.events, n.Event.ID)
	}
}

// breakBatch sometimes changes a submission to one that the server refuses.
func (c *caller) breakBatch(f *form, n *storage.NewSubmission) {
	if c.chance(3) && len(f.events) > 0 {
		n.Event.ID = pick(c, f.events)
	}
	if c.chance(2) && len(f.submissions) > 0 {
		n.Submission.ID = pick(c, f.submissions)
	}
	if c.chance(2) {
		n.Submission.Answers = json.RawMessage(`[`)
	}
}

// submitShared stores a submission to a form that all callers use.
func (c *caller) submitShared(ctx context.Context) {
	number := c.random.IntN(sharedForms)
	n := c.submission(c.shared[number], shared, "")
	key := n.Submission.ID.String()
	switch number {
	case openForm:
		if c.faulty && c.chance(60) { // two callers with one key can make a batch fail
			key = fmt.Sprint("shared-", c.random.IntN(50))
			n.IdempotencyKey = key
		}
	case limitedForm:
		c.limited++
	case uniqueForm:
		key = fmt.Sprint("unique-", c.random.IntN(50))
		answer := sha256.Sum256([]byte(key))
		n.UniqueField, n.UniqueAnswer = c.shared[number].Acceptance.Unique, answer[:]
	}
	n.Submission.Answers = fmt.Appendf(nil, `[{"field":%q,"value":%q}]`, ledger.Block, key)
	stored, _, err := c.store.Submit(ctx, n)
	if err == nil {
		c.acks = append(c.acks, ledger.Acknowledgement{Key: key, Submission: stored.ID.String()})
	} else if !errors.Is(err, storage.ErrDuplicate) && !errors.Is(err, storage.ErrLimitReached) {
		c.tell("submit to a shared form", nil, err)
	}
}

func (c *caller) savePartial(ctx context.Context, f *form) {
	none := json.RawMessage(`{}`)
	p := storage.SavePartialParams{
		New: c.chance(60), Max: 6, Token: pick(c, f.tokens),
		Partial: storage.Partial{
			FormID: f.ID, ID: c.newID(own), SavedAt: c.now(), EndsAt: c.now().Add(10 * time.Minute), Block: "q1", Seconds: 1,
			Answers: fmt.Appendf(nil, `{"q1":%d}`, c.step), Hidden: none, Metadata: none, LinkIssued: c.chance(20), Verified: c.chance(20),
		},
	}
	if p.Token == [32]byte{} || p.New && c.chance(95) {
		p.Token = sha256.Sum256(p.Partial.ID[:])
		f.tokens = append(f.tokens, p.Token)
	}
	if c.chance(20) {
		p.IfRevision = 1
	}
	if c.faulty && c.chance(3) {
		p.Partial.Answers = json.RawMessage(`{`)
	}
	revision, err := c.store.SavePartial(ctx, p)
	c.tell("save", revision, err)
}

func (c *caller) changeWebhooks(ctx context.Context, f *form) {
	id := pick(c, f.webhooks)
	switch c.random.IntN(4) {
	case 0:
		id = c.newID(own)
		f.webhooks = append(slices.Clone(f.webhooks), id)
		c.tell("create webhook", nil, c.store.CreateWebhook(ctx, storage.AsHost(), newWebhook(f, id)))
	case 1:
		c.tell("delete webhook", nil, c.store.DeleteWebhook(ctx, storage.AsHost(), id))
	default:
		changed, err := c.store.UpdateWebhook(ctx, storage.AsHost(), id, storage.WebhookChange{Enabled: new(c.chance(60)), At: c.now()})
		c.tell("update webhook", changed, err)
	}
}

// fieldsOf returns what storing submissions depends on or changes.
func fieldsOf(f storage.Form) []any {
	return []any{f.ID, f.Revision, f.Status, f.Acceptance, f.LimitReached, f.DuplicateCheckReady}
}

// tell writes down the result of an operation.
func (c *caller) tell(operation string, result any, err error) {
	if err != nil {
		result = kindOf(err)
	}
	text, failed := json.Marshal(result)
	c.results = append(c.results, fmt.Sprint(c.number, " ", c.step, " ", operation, " ", string(text), failed))
}

// kindOf returns what callers can know of an error: its text may change.
func kindOf(err error) string {
	if revision, ok := errors.AsType[*storage.RevisionError](err); ok {
		return fmt.Sprint("revision ", revision.Current)
	}
	for _, kind := range []error{
		storage.ErrNotFound, storage.ErrConflict, storage.ErrDuplicate, storage.ErrLimitReached,
		storage.ErrInvalidValue, storage.ErrUnavailable, storage.ErrOutcomeUnknown,
	} {
		if errors.Is(err, kind) {
			return kind.Error()
		}
	}
	return err.Error()
}

// handOver records the deliveries that it gets.
type handOver struct {
	webhooks []storage.ID
	reserved int // calls of Reserve without a HandOver yet
	told     []string
}

func (h *handOver) Reserve(storage.ID) ([]storage.ID, time.Duration) {
	h.reserved++
	return h.webhooks, time.Minute
}

func (h *handOver) Dispatch(leased []storage.ClaimedDelivery, _ bool) {
	h.reserved--
	for _, d := range leased {
		h.told = append(h.told, fmt.Sprint(d.Lease.WebhookID, d.Lease.EventID, d.SubmissionID, d.FormID, d.WorkspaceID,
			d.EventType, string(d.Body), d.URL, d.Attempt))
	}
	slices.Sort(h.told)
}
