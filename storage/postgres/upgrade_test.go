package postgres_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/fixture"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

// A database with rows in every state is served: it reads the same, waiting deliveries are
// sent, unfinished work is finished, and everything can be changed and removed. This build
// also serves tables that the next version has added to, as it will during an update.
func TestAFilledDatabaseIsServed(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	kept, err := fixture.Leave(t.Context(), pgtest.Pool(t, pgtest.MaxConns(8)), pgtest.Schema(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, next := range map[string]string{
		"this version's tables": "",
		"the next one's tables": postgres.NextStep,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := upgrade(t, kept, next)
			u.check()
			for _, found := range u.found {
				t.Error(found)
			}
			if len(u.found) > 0 {
				return
			}
			postgres.ReferencesAreCounted(t, u.pool, u.store)
			u.removeAll()
			if left := postgres.LeftRows(t, u.pool, u.store); len(left) != 1 || !strings.HasPrefix(left[0], "formsvc_migrations") {
				t.Errorf("rows are left: %v", left)
			}
		})
	}
	// Migrations that say they serve the version before, and do not.
	for name, c := range map[string]struct{ next, want string }{
		"a column has another name":    {`ALTER TABLE submissions RENAME COLUMN hidden TO hidden_values`, "column s.hidden does not exist"},
		"a new column has to be given": {`ALTER TABLE forms ADD COLUMN folder text; UPDATE forms SET folder = ''; ALTER TABLE forms ALTER COLUMN folder SET NOT NULL`, "CreateForm: "},
		"a value is other than it was": {`UPDATE funnel_days SET views = 0`, "period=7d/views is "},
		"a delivery is lost":           {`DELETE FROM deliveries WHERE due_at IS NOT NULL`, " was not sent"},
		"what was begun is forgotten":  {`DELETE FROM unique_progress`, " forms that do not know all their answers"},
	} {
		t.Run("when "+name, func(t *testing.T) {
			t.Parallel()
			u := upgrade(t, kept, c.next)
			u.check()
			if found := strings.Join(u.found, "\n"); !strings.Contains(found, c.want) {
				t.Errorf("found %.2000q, want %q", found, c.want)
			}
		})
	}
}

// upgraded is a filled database after an upgrade, and what is wrong with it.
type upgraded struct {
	t        *testing.T
	kept     fixture.Kept
	pool     *pgxpool.Pool
	store    *postgres.Store
	svc      *formsvc.Service
	receiver *fixture.Receiver
	waiting  map[string]fixture.Received
	found    []string
}

// upgrade restores a filled database and migrates it: to the version after this one unless next is empty.
func upgrade(t *testing.T, kept fixture.Kept, next string) *upgraded {
	t.Helper()
	name := pgtest.Schema(t)
	u := &upgraded{t: t, kept: kept, pool: pgtest.Pool(t, pgtest.MaxConns(8)), receiver: &fixture.Receiver{Secrets: kept.Secrets}}
	if err := kept.Restore(t.Context(), u.pool, name); err != nil {
		t.Fatal(err)
	}
	var err error
	if u.waiting, err = kept.Waiting(t.Context(), u.pool, name); err != nil || len(u.waiting) == 0 {
		t.Fatalf("%d deliveries wait: %v", len(u.waiting), err)
	}
	if err := postgres.Migrate(t.Context(), u.pool, postgres.WithSchema(name)); err != nil {
		t.Fatal(err)
	}
	if next != "" {
		if err := postgres.MigrateToNext(t.Context(), u.pool, next, postgres.WithSchema(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.receiver.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := u.receiver.Close(); err != nil {
			t.Error(err)
		}
	})
	u.store = postgres.New(u.pool, postgres.WithSchema(name))
	u.svc = u.service(kept.Clock())
	return u
}

func (u *upgraded) service(clock func() time.Time) *formsvc.Service {
	u.t.Helper()
	svc, err := formsvc.New(formsvc.WithStorage(u.store), formsvc.WithClock(clock), formsvc.WithSecretCipher(fixture.Cipher()),
		formsvc.WithoutRateLimit(), formsvc.WithWebhookConfig(fixture.Webhooks(u.receiver.Address)))
	if err != nil {
		u.t.Fatal(err)
	}
	u.t.Cleanup(func() {
		if err := svc.Close(context.WithoutCancel(u.t.Context())); err != nil {
			u.t.Log(err)
		}
	})
	return svc
}

func (u *upgraded) finds(format string, args ...any) {
	u.found = append(u.found, fmt.Sprintf(format, args...))
}

// is notes an error other than the wanted one.
func (u *upgraded) is(what string, err, want error) {
	if !errors.Is(err, want) {
		u.finds("%s: %v, want %v", what, err, want)
	}
}

// check does all there is to do, until something is wrong.
func (u *upgraded) check() {
	for _, step := range []func(){u.starts, func() { u.reads() }, u.sends, u.finishes, u.changes} {
		if step(); len(u.found) > 0 {
			return
		}
	}
}

func (u *upgraded) starts() { u.is("CheckVersion", u.store.CheckVersion(u.t.Context()), nil) }

// reads asks again what was asked when the database was filled, at that time.
func (u *upgraded) reads(but ...string) {
	told := u.kept.Told
	told.Answers = nil
	for _, a := range u.kept.Answers {
		if !containsOne(a.Path, but) {
			told.Answers = append(told.Answers, a)
		}
	}
	then := u.service(func() time.Time { return u.kept.At })
	found, err := told.Differences(u.t.Context(), fixture.Here(fixture.Handler(then)))
	u.found = append(u.found, found...)
	u.is("reading", err, nil)
}

func containsOne(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// dispatch runs a dispatcher until nothing waits.
func (u *upgraded) dispatch() {
	ctx, cancel := context.WithCancel(u.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- u.svc.Dispatcher().Run(ctx) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); ; <-tick.C {
		queue, err := u.store.QueueStats(ctx)
		if err != nil || queue.Due+queue.Waiting == 0 {
			u.is("QueueStats", err, nil)
			break
		}
		if time.Now().After(deadline) {
			u.finds("after 20 s %d deliveries are due, and %d wait", queue.Due, queue.Waiting)
			break
		}
	}
	cancel()
	u.is("Run", <-ended, nil)
}

// sends looks at what is sent of what waited: each once, byte for byte, and signed.
func (u *upgraded) sends() {
	// By the clock of the database the earlier secrets have ended long ago.
	if _, err := u.pool.Exec(u.t.Context(), u.store.SQL(u.t, `
		UPDATE formsvc.webhooks SET old_secret_until = now() + interval '1 hour'
		WHERE old_secret IS NOT NULL`)); err != nil {
		u.t.Fatal(err)
	}
	u.dispatch()
	got := u.receiver.Got()
	u.found = append(u.found, fixture.Missent(u.waiting, got)...)
	for _, r := range got {
		if r.Path == "/rotated" && r.SignedBefore != 1 {
			u.finds("%d earlier secrets have signed, want 1", r.SignedBefore)
		}
	}
}

// finishes does maintenance, and looks at what it has to finish.
func (u *upgraded) finishes() {
	for range 5 {
		u.is("Maintain", u.svc.Maintain(u.t.Context()), nil)
	}
	for what, left := range map[string]string{
		"forms that are being purged":        `SELECT count(*) FROM formsvc.forms WHERE purged_at IS NOT NULL`,
		"workspaces of a user who is gone":   `SELECT count(*) FROM formsvc.workspaces WHERE purged`,
		"deleted workspaces with forms":      `SELECT count(*) FROM formsvc.workspaces WHERE deleted_at IS NOT NULL AND NOT tidied`,
		"forms whose answers are entered":    `SELECT count(*) FROM formsvc.unique_progress`,
		"counts for a limit that is not set": `SELECT count(*) FROM formsvc.form_limits WHERE count_at IS NOT NULL`,
		"counts that are not in a bucket":    `SELECT count(*) FROM formsvc.funnel_log`,
		"responses that are not entered": `SELECT count(*) FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id AND f.unique_block <> ''
			WHERE NOT EXISTS (SELECT FROM formsvc.unique_answers u WHERE u.form_id = s.form_id AND u.submission_id = s.id)`,
		"forms that do not know all their answers": `SELECT count(*) FROM formsvc.forms WHERE unique_block <> '' AND NOT duplicates_covered`,
		"limits that count otherwise": `SELECT count(*) FROM formsvc.form_limits l JOIN formsvc.forms f ON f.id = l.form_id
			WHERE l.submission_count <> f.places_kept + (SELECT count(*) FROM formsvc.submissions s WHERE s.form_id = f.id)`,
	} {
		var n int
		if err := u.pool.QueryRow(u.t.Context(), u.store.SQL(u.t, left)).Scan(&n); err != nil || n > 0 {
			u.finds("%d %s (%v)", n, what, err)
		}
	}
	// Nobody sees that, but for the deliveries, what was used meanwhile, and what was finished.
	u.reads("/deliveries", "/host/paused", "/host/keys/", "/host/form/")
}

// changes writes to each kind of record.
func (u *upgraded) changes() {
	ctx, host := u.t.Context(), u.svc.AsHost()
	forms := map[string]formsvc.Form{}
	for f, err := range host.Forms(ctx, formsvc.FormQuery{}) {
		u.is("Forms", err, nil)
		forms[strings.TrimPrefix(f.Name, "Form ")] = f
	}
	submit := func(form, answers, key string, want error) (s formsvc.Submission) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte(answers), &members); err != nil {
			u.t.Fatal(err)
		}
		s, err := u.svc.Submit(ctx, formsvc.Response{FormID: forms[form].ID, Answers: members, IdempotencyKey: key})
		u.is("Submit to "+form, err, want)
		return s
	}
	if s := submit("everything", `{"short_text":"again"}`, "visit 3", nil); s.SubmittedAt.After(u.kept.At) {
		u.finds("a response was stored again under its key")
	}
	sent := len(u.receiver.Got())
	submit("everything", `{"short_text":"new"}`, "", nil)
	submit("rules", `{"kind":"private"}`, "", nil)
	submit("unique", `{"mail":"U3@EXAMPLE.com"}`, "", formsvc.ErrDuplicate)
	submit("unique", `{"mail":"new@example.com"}`, "", nil)
	submit("entering", `{"mail":"p1@example.com"}`, "", formsvc.ErrDuplicate)
	submit("closed", `{}`, "", formsvc.ErrClosed)
	submit("full", `{"mail":"new@example.com"}`, "", formsvc.ErrClosed)
	for s, err := range host.Submissions(ctx, forms["full"].ID, formsvc.SubmissionQuery{Limit: 1}) {
		u.is("Submissions", err, nil)
		u.is("DeleteSubmission", host.DeleteSubmission(ctx, s.FormID, s.ID), nil)
	}
	submit("full", `{"mail":"new@example.com"}`, "", nil)
	limit := formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"responseLimit":1}`)}}
	_, err := host.UpdateForm(ctx, forms["counting"].ID, limit)
	u.is("UpdateForm with a limit", err, nil)
	submit("counting", `{}`, "", nil)
	submit("counting", `{}`, "", formsvc.ErrClosed)

	for name, f := range forms {
		name += " again"
		_, err := host.UpdateForm(ctx, f.ID, formsvc.FormUpdate{Name: &name})
		u.is("UpdateForm", err, nil)
		_, err = u.store.PutDocument(ctx, storage.AsHost(), f.ID, storage.DocumentChange{Kind: "version", Key: "1", Value: json.RawMessage(`{}`), At: u.kept.At, Public: true})
		u.is("PutDocument", err, nil)
	}
	for w, err := range host.Workspaces(ctx, formsvc.Query{}) {
		u.is("Workspaces", err, nil)
		_, err = host.RenameWorkspace(ctx, w.ID, w.Name+" again")
		u.is("RenameWorkspace", err, nil)
		_, err = host.CreateForm(ctx, formsvc.FormCreate{Workspace: w.ID, Name: "new"})
		u.is("CreateForm", err, nil)
		trashed, err := u.svc.TrashedForms(ctx, w.ID)
		u.is("TrashedForms", err, nil)
		for _, f := range trashed {
			u.is("RestoreForm", u.svc.RestoreForm(ctx, f.ID, formsvc.ID{}), nil)
		}
	}
	for w, err := range host.Webhooks(ctx, formsvc.Query{}) {
		u.is("Webhooks", err, nil)
		on, secret := true, "a new secret of this webhook"
		_, err = host.UpdateWebhook(ctx, w.ID, formsvc.WebhookUpdate{Enabled: &on, SigningSecret: &secret})
		u.is("UpdateWebhook", err, nil)
		u.is("SendTestEvent", u.svc.SendTestEvent(ctx, w.ID), nil)
	}
	_, err = u.svc.CreateKey(ctx, formsvc.KeyRequest{User: formsvc.User{ID: formsvc.UserIDFrom("ann")}, Name: "new", Scopes: formsvc.Scopes()})
	u.is("CreateKey", err, nil)
	if u.dispatch(); len(u.receiver.Got()) <= sent {
		u.finds("nothing was sent of new responses")
	}
}

// removeAll removes all users. The workspaces that they deleted stay in the trash.
func (u *upgraded) removeAll() {
	u.t.Helper()
	ctx := u.t.Context()
	for _, name := range []string{"ann", "bob", "cleo", "dan"} {
		if err := u.svc.DeleteUser(ctx, formsvc.UserIDFrom(name)); err != nil {
			u.t.Error(err)
		}
	}
}
