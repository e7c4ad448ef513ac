package servicetest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

// search finds where a store keeps bytes.
type search func(needle []byte) []string

// onEachSearched runs a test on a service with memory and one with PostgreSQL, and a
// search through everything that its store holds.
func onEachSearched(t *testing.T, test func(t *testing.T, b *servicetest.Bundle, find search)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		store := memory.New()
		b := servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithoutRateLimit())
		test(t, b, func(needle []byte) []string {
			// Nothing writes to the store while it is searched: neither the last uses of keys.
			check(t, b.Close(t.Context()))
			w := walker{needle: needle, seen: map[uintptr]bool{}}
			w.value("store", reflect.ValueOf(store))
			return w.found
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		schema, pool := pgtest.Schema(t), pgtest.Pool(t, pgtest.MaxConns(8))
		store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
		test(t, servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithoutRateLimit()), func(needle []byte) []string {
			return searchTables(t, pool, schema, needle)
		})
	})
}

// walker goes through everything that a value refers to.
type walker struct {
	needle []byte
	seen   map[uintptr]bool
	found  []string
}

func (w *walker) value(path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !w.seen[v.Pointer()] {
			w.seen[v.Pointer()] = true
			w.value(path, v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			w.value(path, v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[storage.MaintenanceStatus]() {
			return // times alone, and a sweep of another goroutine may note them now
		}
		for i := range v.NumField() {
			w.value(path+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			w.value(path+" key", it.Key())
			w.value(path+"[]", it.Value())
		}
	case reflect.String:
		w.bytes(path, []byte(v.String()))
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			raw := make([]byte, v.Len())
			for i := range raw {
				raw[i] = byte(v.Index(i).Uint())
			}
			w.bytes(path, raw)
			return
		}
		for i := range v.Len() {
			w.value(path+"[]", v.Index(i))
		}
	}
}

func (w *walker) bytes(path string, b []byte) {
	if bytes.Contains(b, w.needle) {
		w.found = append(w.found, path)
	}
}

// searchTables looks into every column of every table of a schema.
func searchTables(t *testing.T, pool *pgxpool.Pool, schema string, needle []byte) (found []string) {
	t.Helper()
	rows, err := pool.Query(t.Context(), `SELECT c.table_name::text, c.column_name::text, c.data_type::text
		FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE c.table_schema = $1 AND t.table_type = 'BASE TABLE' ORDER BY 1, 2`, schema)
	expect.NoError(t, err)
	type column struct{ Table, Column, Type string }
	columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[column])
	expect.Require(t, err == nil && len(columns) >= 100, "%d columns: %v", len(columns), err)
	for _, c := range columns {
		name := pgx.Identifier{c.Column}.Sanitize()
		value := "convert_to(" + name + "::text, 'UTF8')"
		if c.Type == "bytea" {
			value = name + "::bytea"
		}
		var n int
		text := fmt.Sprintf("SELECT count(*) FROM %s WHERE position($1::bytea IN %s) > 0", pgx.Identifier{schema, c.Table}.Sanitize(), value)
		expect.NoError(t, pool.QueryRow(t.Context(), text, needle).Scan(&n))
		if n > 0 {
			found = append(found, c.Table+"."+c.Column)
		}
	}
	return found
}

// needles are what has to be there before a removal and nowhere after it.
type needles map[string][]byte

func (n needles) id(name string, id formsvc.ID) { n[name] = bytes.Clone(id[:]) }

func (n needles) there(t *testing.T, find search, want bool, when string) {
	t.Helper()
	for name, needle := range n {
		expect.Equal(t, len(find(needle)) > 0, want, "%s: %s is in", when, name)
	}
}

// tenant is what the tests give each user.
type tenant struct {
	user      formsvc.User
	workspace formsvc.Workspace
	forms     []formsvc.ID // live, in the trash, and in the trash with their workspace
	needles   needles
}

// newTenant makes a user with a key, two workspaces (one of them deleted), and three forms,
// each with a webhook and responses, of which one is delivered and one pending.
func newTenant(b *servicetest.Bundle, name, url string) *tenant {
	b.T.Helper()
	ctx := b.T.Context()
	u := &tenant{user: formsvc.User{ID: formsvc.UserIDFrom(name), Name: name + " the user", Email: name + "@users.example"}, needles: needles{}}
	expect.Must(b.CreateKey(ctx, formsvc.KeyRequest{User: u.user, Name: name + "'s key", Scopes: storage.Scopes()}))
	u.workspace = expect.Must(b.CreateWorkspace(ctx, u.user.ID, name+"'s workspace"))
	gone := expect.Must(b.CreateWorkspace(ctx, u.user.ID, name+"'s other workspace"))
	for i, workspace := range []formsvc.ID{u.workspace.ID, u.workspace.ID, gone.ID} {
		f, err := b.AsHost().CreateForm(ctx, formsvc.FormCreate{Workspace: workspace, Name: fmt.Sprintf("%s's form %d", name, i), Definition: formsvc.Definition{
			Blocks: json.RawMessage(`[{"id":"mail","type":"email","label":"` + name + `'s label"}]`), Settings: json.RawMessage(`{"duplicateField":"mail"}`),
		}})
		expect.NoError(b.T, err)
		expect.Must(b.AsHost().PublishForm(ctx, f.ID))
		expect.Must(b.AsHost().CreateWebhook(ctx, formsvc.WebhookCreate{Form: f.ID, URL: url + "/" + name, SigningSecret: servicetest.Secret}))
		s := expect.Must(b.Submit(ctx, formsvc.SubmitParams{
			FormID: f.ID, Answers: servicetest.Answers("mail", `"`+name+`@answers.example"`), IdempotencyKey: name + "'s attempt",
			Metadata: formsvc.Metadata{UserAgent: name + "'s browser"},
		}))
		_, _, err = b.SavePartial(ctx, formsvc.PartialSubmission{FormID: f.ID, Answers: servicetest.Answers("mail", `"`+name+`'s half response"`)})
		expect.NoError(b.T, err)
		expect.NoError(b.T, b.RecordView(ctx, f.ID))
		expect.Must(b.AsHost().Metrics(ctx, f.ID, formsvc.PeriodAll)) // writes it
		u.forms = append(u.forms, f.ID)
		u.needles.id(fmt.Sprint("the id of form ", i), f.ID)
		u.needles.id(fmt.Sprint("the id of the response to form ", i), s.ID)
	}
	expect.NoError(b.T, b.AsHost().TrashForm(ctx, u.forms[1]))
	expect.NoError(b.T, b.AsHost().DeleteWorkspace(ctx, gone.ID))
	u.needles.id("the id of the user", u.user.ID)
	u.needles.id("the id of the workspace", u.workspace.ID)
	u.needles.id("the id of the deleted workspace", gone.ID)
	for _, text := range []string{" the user", "@users.example", "'s key", "'s workspace", "'s form 0", "'s form 1", "'s form 2", "'s label", "@answers.example", "'s attempt", "'s browser", "'s half response"} {
		u.needles[name+text] = []byte(name + text)
	}
	return u
}

func TestDeleteUserLeavesNothingAndTouchesNobodyElse(t *testing.T) {
	t.Parallel()
	onEachSearched(t, func(t *testing.T, b *servicetest.Bundle, find search) {
		url, _ := servicetest.Receiver(t)
		stop := dispatching(t, b)
		first, second := newTenant(b, "first", url), newTenant(b, "second", url)
		for _, pair := range [][2]*tenant{{first, second}, {second, first}} {
			expect.NoError(t, b.AddMember(t.Context(), pair[0].workspace.ID, pair[1].user.ID))
		}
		servicetest.WaitFor(t, "an attempt of each user", func() bool {
			for _, u := range []*tenant{first, second} {
				for hook, err := range b.AsHost().Webhooks(t.Context(), formsvc.Query{}) {
					expect.NoError(t, err)
					if hook.FormID != u.forms[0] {
						continue
					}
					if attempts, err := b.Store.Deliveries(t.Context(), storage.AsHost(), hook.ID, 1); err != nil || len(attempts) == 0 {
						return false
					}
				}
			}
			return true
		})
		stop()
		for _, u := range []*tenant{first, second} { // pending when the user goes
			expect.Must(b.Answer(u.forms[0], "mail", `"later@answers.example"`))
		}
		first.needles.there(t, find, true, "before")
		second.needles.there(t, find, true, "before")
		expect.NoError(t, b.DeleteUser(t.Context(), first.user.ID))
		first.needles.there(t, find, false, "after DeleteUser")
		second.needles.there(t, find, true, "after DeleteUser of another user")
		expect.That(t, b.DeleteUser(t.Context(), formsvc.ID{}) != nil, "DeleteUser of the zero ID is done")
		expect.Error(t, "DeleteUser once more", b.DeleteUser(t.Context(), first.user.ID), nil)

		// Everything of the other user works as before, and so does their trash.
		members, err := b.Members(t.Context(), second.workspace.ID)
		expect.That(t, err == nil && len(members) == 0, "members %v, %v", members, err)
		keys, err := b.Keys(t.Context(), second.user.ID)
		expect.That(t, err == nil && len(keys) == 1, "%d keys, %v", len(keys), err)
		check(t, b.RestoreForm(t.Context(), second.forms[1], formsvc.ID{}))
		check(t, b.RestoreForm(t.Context(), second.forms[2], second.workspace.ID))
		for _, form := range second.forms {
			expect.Error(t, "a form of another user", expect.ErrorOf(b.Answer(form, "mail", `"SECOND@answers.example"`)), formsvc.ErrDuplicate)
		}
		stats, err := b.Store.QueueStats(t.Context())
		expect.That(t, err == nil && stats.Due+stats.Waiting == 1, "%+v, %v", stats, err)
	})
}

// dispatching runs the dispatcher until the returned function is called.
func dispatching(t *testing.T, b *servicetest.Bundle) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Dispatcher().Run(ctx) }()
	return func() {
		cancel()
		check(t, <-done)
	}
}

// interrupted is a store whose sweeps fail after some.
type interrupted struct {
	storage.Storage
	left *int
}

func (s interrupted) Sweep(ctx context.Context, p storage.SweepParams) (storage.SweepResult, error) {
	if *s.left--; *s.left < 0 {
		return storage.SweepResult{}, storage.ErrUnavailable
	}
	p.Max = 1
	return s.Storage.Sweep(ctx, p)
}

// A process that dies while it removes a user leaves the rest to Maintain, in any other.
func TestMaintainResumesTheRemovalOfAUser(t *testing.T) {
	t.Parallel()
	onEachSearched(t, func(t *testing.T, b *servicetest.Bundle, find search) {
		u := newTenant(b, "somebody", "http://127.0.0.1:8099")
		left := 2
		dying := b.WithStorage(interrupted{b.Store, &left})
		err := dying.DeleteUser(t.Context(), u.user.ID)
		expect.Require(t, err == nil || errors.Is(err, storage.ErrUnavailable), "%v", err)
		for _, form := range u.forms {
			expect.Error(t, "a form of the user is there", expect.ErrorOf(b.AsHost().Form(t.Context(), form)), formsvc.ErrNotFound)
			expect.Error(t, "a form of the user can be restored", b.RestoreForm(t.Context(), form, b.Workspace), formsvc.ErrNotFound)
		}
		for range 10 {
			expect.NoError(t, b.Maintain(t.Context()))
		}
		u.needles.there(t, find, false, "after Maintain")
	})
}

// Maintain may run in every process at once: none of them takes work from a removal
// that it waits for.
func TestDeleteUserIsDoneWhenItReturnsThoughMaintainRuns(t *testing.T) {
	t.Parallel()
	onEachSearched(t, func(t *testing.T, b *servicetest.Bundle, find search) {
		stop := make(chan struct{})
		var maintaining sync.WaitGroup
		for range 2 {
			maintaining.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if err := b.Maintain(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		defer maintaining.Wait()
		defer close(stop)
		for i := range 6 {
			u := newTenant(b, fmt.Sprint("somebody", i), "http://127.0.0.1:8099")
			expect.NoError(t, b.DeleteUser(t.Context(), u.user.ID))
			u.needles.there(t, find, false, "after DeleteUser")
			if t.Failed() {
				return
			}
		}
	})
}

func TestPurgeForm(t *testing.T) {
	t.Parallel()
	onEachSearched(t, func(t *testing.T, b *servicetest.Bundle, find search) {
		u, other := newTenant(b, "somebody", "http://127.0.0.1:8099"), newTenant(b, "nobody", "http://127.0.0.1:8099")
		for _, form := range []formsvc.ID{u.forms[0], {1}} {
			expect.Error(t, "PurgeForm of a form that is not in the trash", b.PurgeForm(t.Context(), form), formsvc.ErrNotFound)
		}
		purged := needles{}
		for i := 1; i < 3; i++ {
			expect.NoError(t, b.PurgeForm(t.Context(), u.forms[i]))
			purged.id(fmt.Sprint("the id of form ", i), u.forms[i])
			purged[fmt.Sprint("the name of form ", i)] = []byte(fmt.Sprintf("somebody's form %d", i))
		}
		purged.there(t, find, false, "after PurgeForm")
		other.needles.there(t, find, true, "after PurgeForm of others")
		found := find([]byte("somebody's form 0"))
		expect.That(t, len(found) != 0, "the form outside the trash is gone")
	})
}

func TestEraseRespondentLeavesNothingAndTouchesNobodyElse(t *testing.T) {
	t.Parallel()
	onEachSearched(t, func(t *testing.T, b *servicetest.Bundle, find search) {
		const blocks = `[{"id":"mail","type":"email"},{"id":"who","type":"contact_info"},{"id":"note","type":"long_text"}]`
		form, other := b.Form(blocks, `{"duplicateField":"mail","responseLimit":5}`), b.Form(blocks, `{"duplicateField":"mail"}`)
		url, _ := servicetest.Receiver(t)
		b.Webhook(form, url, servicetest.Secret)
		respond := func(form formsvc.ID, mail, contact, note string) {
			t.Helper()
			_, err := b.Submit(t.Context(), formsvc.SubmitParams{
				FormID: form, Answers: servicetest.Answers("mail", `"`+mail+`"`, "who", `{"email":"`+contact+`"}`, "note", `"`+note+`"`),
				IdempotencyKey: "key of " + note, Metadata: formsvc.Metadata{UserAgent: "browser of " + note},
			})
			expect.NoError(t, err)
		}
		respond(form, "Ann@Answers.example", "ann@work.example", "erased one")
		respond(form, "ann2@answers.example", "ANN@work.example", "erased two")
		respond(form, "bob@answers.example", "bob@work.example", "kept one")
		respond(other, "ann@answers.example", "ann@work.example", "kept two")
		digest := sha256.Sum256([]byte("sann2@answers.example"))
		erased := needles{
			"the note": []byte("erased "), "the key and the browser": []byte("of erased "), "the address": []byte("ann2@answers.example"), "the digest": digest[:],
		}
		kept := needles{"the note": []byte("kept one"), "the note of another form": []byte("kept two"), "the address": []byte("ann@answers.example")}
		erased.there(t, find, true, "before")

		for _, none := range []map[string]string{nil, {}, {"mail": " "}, {"note": "\u200b"}, {"note": "a\xffb"}, {"mail": "ann@answers.example", "note": ""}} {
			refused(t, expect.ErrorOf(b.EraseRespondent(t.Context(), form, none)), "%v", none)
			for _, err := range b.FindRespondent(t.Context(), form, none) {
				refused(t, err, "%v", none)
			}
		}
		both := map[string]string{"who/email": "ann@WORK.example", "mail": "bob@answers.example"}
		expect.Returns(t, 0, "two conditions that no response meets")(b.EraseRespondent(t.Context(), form, both))
		expect.Returns(t, 0, "a part of an address")(b.EraseRespondent(t.Context(), form, map[string]string{"mail": "bob"}))
		kept.there(t, find, true, "before")
		n, err := b.EraseRespondent(t.Context(), form, map[string]string{"who/email": " Ann@work.example"})
		expect.Require(t, n == 2 && err == nil, "%d, %v, want 2", n, err)
		erased.there(t, find, false, "after EraseRespondent")
		kept.there(t, find, true, "after EraseRespondent")
		stats, err := b.Store.QueueStats(t.Context())
		expect.That(t, err == nil && stats.Due == 1, "%+v, %v", stats, err)
		for i := range 4 { // two places and both addresses are free
			mail := []string{"ann@answers.example", "ann2@answers.example", "c@answers.example", "d@answers.example"}[i]
			respond(form, mail, "x@work.example", fmt.Sprint("later ", i))
		}
		expect.Error(t, "a response beyond the limit", expect.ErrorOf(b.Answer(form, "mail", `"e@answers.example"`)), formsvc.ErrClosed)
		expect.Error(t, "an unknown form", expect.ErrorOf(b.EraseRespondent(t.Context(), formsvc.ID{1}, map[string]string{"mail": "x"})), formsvc.ErrNotFound)
	})
}

// More responses than a piece has, among others, and an interruption in between.
func TestEraseRespondentOfManyResponses(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(servicetest.MailBlocks, `{}`)
		for i := range 1100 {
			expect.Must(b.Answer(form, "mail", fmt.Sprintf(`"%d@example.com"`, i%2)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n, err := b.EraseRespondent(ctx, form, map[string]string{"mail": "0@example.com"})
		expect.That(t, n == 0 && errors.Is(err, context.Canceled), "%d, %v", n, err)
		expect.Returns(t, 550, "EraseRespondent")(b.EraseRespondent(t.Context(), form, map[string]string{"mail": "0@example.com"}))
		left := 0
		for s, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
			expect.Require(t, err == nil && strings.Contains(string(s.Answers), "1@example.com"), "%s, %v", s.Answers, err)
			left++
		}
		expect.That(t, left == 550, "%d responses are left, want 550", left)
	})
}

func TestPurgeSubmissionsLeavesNothingButPlaces(t *testing.T) {
	t.Parallel()
	onEachSearched(t, func(t *testing.T, b *servicetest.Bundle, find search) {
		settings := `{"duplicateField":"mail","responseLimit":3}`
		form, other := b.Form(servicetest.MailBlocks, settings), b.Form(servicetest.MailBlocks, settings)
		respond := func(form formsvc.ID, at time.Time, name string) {
			t.Helper()
			_, err := b.Submit(t.Context(), formsvc.SubmitParams{
				FormID: form, Answers: servicetest.Answers("mail", `"`+name+`@answers.example"`), SubmittedAt: at, IdempotencyKey: name + "'s attempt",
			})
			expect.NoError(t, err)
		}
		old := time.Now().AddDate(-1, 0, 0)
		respond(form, old, "old")
		respond(form, time.Time{}, "new")
		respond(other, old, "else")
		trashed := b.Form(servicetest.MailBlocks, settings)
		respond(trashed, old, "trashed")
		expect.NoError(t, b.AsHost().TrashForm(t.Context(), trashed))
		digest := sha256.Sum256([]byte("sold@answers.example"))
		purged := needles{"the address": []byte("old@answers.example"), "the key": []byte("old's attempt"), "the digest": digest[:]}
		purged.there(t, find, true, "before")
		expect.Returns(t, 1, "PurgeSubmissions")(b.PurgeSubmissions(t.Context(), time.Now().AddDate(0, -1, 0), form))
		purged.there(t, find, false, "after PurgeSubmissions")
		needles{"the new address": []byte("new@answers.example"), "another form's": []byte("else@answers.example"), "that in the trash": []byte("trashed@answers.example")}.
			there(t, find, true, "after PurgeSubmissions")
		expect.Error(t, "the answer of a purged response", expect.ErrorOf(b.Answer(form, "mail", `"OLD@answers.example"`)), nil)
		expect.Error(t, "the place of a purged response", expect.ErrorOf(b.Answer(form, "mail", `"fourth@answers.example"`)), formsvc.ErrClosed)
		expect.Returns(t, 2, "all forms")(b.PurgeAllSubmissions(t.Context(), time.Now().AddDate(0, -1, 0)))
		needles{"another form's": []byte("else@answers.example"), "that in the trash": []byte("trashed@answers.example")}.there(t, find, false, "after PurgeSubmissions of all forms")
	})
}

// A name that is misspelled, or that of an answer which is never compared, is an error:
// otherwise nobody would notice that nobody was erased.
func TestEraseRespondentRefusesWhatCannotMeanAnybody(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(`[{"id":"mail","type":"email"},{"id":"old","type":"short_text"},{"id":"grid","type":"matrix"},{"id":"who","type":"contact_info"}]`, `{"duplicateField":"mail"}`)
		expect.Must(b.Answer(form, "mail", `"ann@example.com"`, "old", `"Ann"`))
		b.Change(form, formsvc.Definition{Blocks: json.RawMessage(`[{"id":"mail","type":"email"},{"id":"grid","type":"matrix"},{"id":"who","type":"contact_info"}]`)})
		for _, test := range []struct {
			wanted map[string]string
			faults string
		}{
			{map[string]string{"mial": "ann@example.com"}, "/answers/mial UNKNOWN_FIELD"},
			{map[string]string{"mail": "ann@example.com", "who/emial": "ann@example.com"}, "/answers/who~1emial UNKNOWN_FIELD"},
			{map[string]string{"mail": "ann@example.com", "grid": "x", "nobody": "x"}, "/answers/grid NOT_ALLOWED, /answers/nobody UNKNOWN_FIELD"},
			{map[string]string{"who": "ann@example.com"}, "/answers/who NOT_ALLOWED"},
		} {
			n, err := b.EraseRespondent(t.Context(), form, test.wanted)
			expect.That(t, n == 0 && violations(err) == test.faults, "%v: %d, %v, want %s", test.wanted, n, err, test.faults)
		}
		old := map[string]string{"old": "ann", "mail": "ann@example.com"}
		expect.Returns(t, 0, "a block that nobody answered")(b.EraseRespondent(t.Context(), form, map[string]string{"who/email": "ann@example.com"}))
		expect.Returns(t, 1, "a block that the form had before")(b.EraseRespondent(t.Context(), form, old))
		refused(t, expect.ErrorOf(b.EraseRespondent(t.Context(), form, map[string]string{"old": "ann"})), "when no response has that block any more")
	})
}

func TestPurgesNeedATime(t *testing.T) {
	t.Parallel()
	servicetest.OnEachStorage(t, func(t *testing.T, b *servicetest.Bundle) {
		form := b.Form(servicetest.MailBlocks, `{}`)
		expect.Must(b.Answer(form, "mail", `"a@example.com"`))
		n, err := b.PurgeSubmissions(t.Context(), time.Time{}, form)
		expect.That(t, n == 0 && err != nil, "PurgeSubmissions: %d, %v", n, err)
		n, err = b.PurgeSubmissions(t.Context(), time.Now().Add(time.Hour), formsvc.ID{})
		expect.That(t, n == 0 && err != nil, "PurgeSubmissions of the zero form: %d, %v", n, err)
		n, err = b.PurgeAllSubmissions(t.Context(), time.Time{})
		expect.That(t, n == 0 && err != nil, "PurgeSubmissions of all forms: %d, %v", n, err)
		n, err = b.PurgeTrash(t.Context(), time.Time{})
		expect.That(t, n == 0 && err != nil, "PurgeTrash: %d, %v", n, err)
	})
}
