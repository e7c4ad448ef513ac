package servicetest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

var updateReleased = flag.Bool("update", false, "write the tables of the newest release again")

// released are the releases whose tables this program must read, oldest first. Only the newest may be written again,
// until it is tagged.
var released = []struct {
	version    string
	migrations []string // that it had
	digest     string   // SHA-256 of these migrations, which never change
}{
	{"v0.1.0", []string{"0001_tables.up.sql"}, "e0203c4b230418b0b741e86d81667b52da56b9f9b5362281524e3653538243ef"},
}

// releasedNow is the time at which the tables are read.
var releasedNow = time.Date(2026, 12, 2, 12, 0, 0, 0, time.UTC)

// A database of each release is migrated, reads as it did then, and can be changed and removed.
func TestTablesOfReleases(t *testing.T) {
	for i, r := range released {
		t.Run(r.version, func(t *testing.T) {
			file := "testdata/" + r.version
			up := releasedMigrations(t, r.migrations)
			sum := sha256.Sum256([]byte(up))
			digest := hex.EncodeToString(sum[:])
			expect.That(t, digest == r.digest, "the migrations of %s have the digest %s, want %s: after the release, changes belong into a migration of their own", r.version, digest, r.digest)
			if *updateReleased && i == len(released)-1 {
				d := newReleasedDatabase(t)
				expect.NoError(t, postgres.Migrate(t.Context(), d.pool, postgres.WithSchema(d.schema)))
				d.fill()
				d.everyColumnHasAValue()
				expect.NoError(t, os.MkdirAll("testdata", 0o750))
				writeCompressed(t, file+".tables.gz", d.dump())
				writeCompressed(t, file+".state.gz", d.state())
			}
			d := newReleasedDatabase(t)
			d.restore(up, readCompressed(t, file+".tables.gz"))
			expect.NoError(t, postgres.Migrate(t.Context(), d.pool, postgres.WithSchema(d.schema)))
			if diff := cmp.Diff(strings.Split(readCompressed(t, file+".state.gz"), "\n"), strings.Split(d.state(), "\n")); diff != "" {
				t.Errorf("the service no longer returns what it returned in %s (-then +now):\n%.8000s", r.version, diff)
			}
			d.continues()
		})
	}
}

func releasedMigrations(t *testing.T, names []string) string {
	t.Helper()
	var all strings.Builder
	for _, name := range names {
		all.Write(expect.Must(fs.ReadFile(postgres.Migrations(), name)))
		all.WriteString(";\n")
	}
	return all.String()
}

func writeCompressed(t *testing.T, file, text string) {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)
	expect.NoError(t, errors.Join(err, w.Close(), os.WriteFile(file, b.Bytes(), 0o600)))
}

func readCompressed(t *testing.T, file string) string {
	t.Helper()
	r := expect.Must(gzip.NewReader(bytes.NewReader(expect.Must(os.ReadFile(file)))))
	return servicetest.ReadAll(t, r)
}

// releasedDatabase is a schema with the tables of a release.
type releasedDatabase struct {
	t      *testing.T
	pool   *pgxpool.Pool
	schema string
}

func newReleasedDatabase(t *testing.T) *releasedDatabase {
	t.Helper()
	schema := pgtest.Schema(t)
	return &releasedDatabase{t, pgtest.Pool(t, pgtest.MaxConns(8)), schema}
}

func (d *releasedDatabase) store() *postgres.Store {
	return postgres.New(d.pool, postgres.WithSchema(d.schema))
}

func (d *releasedDatabase) table(name string) string {
	return pgx.Identifier{d.schema, name}.Sanitize()
}

func (d *releasedDatabase) query(text string, args ...any) []string {
	d.t.Helper()
	rows, err := d.pool.Query(d.t.Context(), text, args...)
	expect.NoError(d.t, err)
	return expect.Must(pgx.CollectRows(rows, pgx.RowTo[string]))
}

// tables are all tables, those that others refer to first.
func (d *releasedDatabase) tables() []string {
	d.t.Helper()
	return d.query(`SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' ORDER BY oid`, d.schema)
}

// copies runs COPY for one table.
func (d *releasedDatabase) copies(copy func(context.Context, *pgx.Conn) error) {
	d.t.Helper()
	c := expect.Must(d.pool.Acquire(d.t.Context()))
	defer c.Release()
	expect.NoError(d.t, copy(d.t.Context(), c.Conn()))
}

// dump returns each table as a line with its name, its rows, and a line with \. as pg_dump writes them, and then the
// statements that set the sequences.
func (d *releasedDatabase) dump() string {
	d.t.Helper()
	var b bytes.Buffer
	for _, table := range d.tables() {
		fmt.Fprintln(&b, table)
		d.copies(func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.PgConn().CopyTo(ctx, &b, "COPY "+d.table(table)+" TO STDOUT")
			return err
		})
		b.WriteString("\\.\n")
	}
	for _, s := range d.query(`SELECT format('SELECT setval(%L, %s)', sequencename, last_value) FROM pg_sequences WHERE schemaname = $1 AND last_value IS NOT NULL ORDER BY 1`, d.schema) {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// restore creates the tables of a release, and reads what dump returned.
func (d *releasedDatabase) restore(up, dump string) {
	d.t.Helper()
	exec := func(text string) {
		path := "SET LOCAL search_path = " + pgx.Identifier{d.schema}.Sanitize() + ";"
		_, err := d.pool.Exec(d.t.Context(), path+text, pgx.QueryExecModeSimpleProtocol)
		expect.NoError(d.t, err)
	}
	exec("CREATE SCHEMA " + pgx.Identifier{d.schema}.Sanitize() + ";" + up)
	exec("DELETE FROM formsvc_version; DELETE FROM upkeep; CREATE TABLE IF NOT EXISTS formsvc_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL)")
	for dump != "" {
		name, rest, _ := strings.Cut(dump, "\n")
		if strings.HasPrefix(name, "SELECT ") {
			exec(name)
			dump = rest
			continue
		}
		rows, after, found := strings.Cut("\n"+rest, "\n\\.\n")
		expect.Require(d.t, found, "the rows of %s do not end", name)
		d.copies(func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.PgConn().CopyFrom(ctx, strings.NewReader(strings.TrimPrefix(rows+"\n", "\n")), "COPY "+d.table(name)+" FROM STDIN")
			return err
		})
		dump = after
	}
}

// fill works with the service as hosts, users and respondents do.
func (d *releasedDatabase) fill() {
	t, ctx := d.t, d.t.Context()
	now := servicetest.NewClock(releasedNow.Add(-12 * 24 * time.Hour))
	compare([]door{newHTTPDoor(t, d.store(), now)}, newStepScript(3, now), 800)

	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer receiver.Close()
	b := servicetest.SetupOn(t, d.store(), formsvc.WithoutRateLimit(), formsvc.WithClock(now.Now), formsvc.WithWebhookConfig(webhooks.Config{
		AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Local:           map[string]http.Handler{"mail": http.NotFoundHandler()},
	}))
	ann := b.As(b.User.ID)
	form := everyTypeForm(b)
	var hooks []formsvc.ID
	for _, path := range []string{"/ready", "/busy"} {
		hook := expect.Must(ann.CreateWebhook(ctx, formsvc.WebhookCreate{Form: form, URL: receiver.URL + path, SigningSecret: servicetest.Secret, FormDetails: true, Updates: true}))
		expect.Must(ann.UpdateWebhook(ctx, hook.ID, formsvc.WebhookUpdate{SigningSecret: new("another secret of sixteen")}))
		hooks = append(hooks, hook.ID)
	}
	expect.Must(b.LocalWebhooks().CreateWebhook(ctx, formsvc.WebhookCreate{URL: "local:mail"}))
	submit := func() {
		p := everyAnswer(form)
		p.Respondent, p.Language, p.Metadata = "user 7", "nl", formsvc.Metadata{Country: "NL", UserAgent: "Firefox", Device: "mobile"}
		now.Advance(time.Hour)
		stored := expect.Must(b.Submit(ctx, p))
		expect.Must(ann.UpdateSubmission(ctx, form, stored.ID, formsvc.SubmissionChange{Answers: servicetest.Answers("text", `"changed"`)}))
		expect.Must(b.AsHost().UpdateSubmission(ctx, form, stored.ID, formsvc.SubmissionChange{Answers: servicetest.Answers("text", `"again"`), ByRespondent: true}))
		expect.NoError(t, b.RecordView(ctx, form))
	}
	submit()
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- b.Dispatcher().Run(run) }()
	b.Deliveries(hooks[0], 3)
	b.Deliveries(hooks[1], 1)
	stop()
	expect.NoError(t, <-ended)

	expires := now.Now().Add(30 * 24 * time.Hour)
	for range 2 {
		key := expect.Must(b.CreateKey(ctx, formsvc.KeyRequest{User: b.User, Name: "expires", Scopes: []formsvc.Scope{storage.ScopeFormsRead}, ExpiresAt: &expires}))
		expect.NoError(t, b.RevokeKey(ctx, b.User.ID, key.Key.ID))
	}
	expect.Must(ann.WorkingCopy(form).UpdateForm(ctx, formsvc.FormUpdate{Name: new("Not published yet")}))
	expect.Must(ann.CreateForm(ctx, formsvc.FormCreate{Workspace: b.Workspace, Name: "Later", Type: "MULTI", Definition: formsvc.Definition{
		Blocks:    json.RawMessage(`[{"id":"name","type":"short_text"}]`),
		Settings:  json.RawMessage(`{"openAt":"2026-12-01T00:00:00Z","closeAt":"2026-12-24T00:00:00Z"}`),
		Theme:     json.RawMessage(`{"corners":7}`),
		Variables: json.RawMessage(`{"score":1.5,"level":"low"}`),
	}}))

	partial := formsvc.PartialSubmission{FormID: form, Answers: servicetest.Answers("text", `"half"`), Respondent: "user 8", LinkIssued: true, CaptchaSolved: true, ShareWithOwner: true}
	_, _, err := b.SavePartial(ctx, partial)
	expect.NoError(t, err)
	partial.Respondent = ""
	token, _, err := b.SavePartial(ctx, partial)
	expect.NoError(t, err)
	p := everyAnswer(form)
	p.Partial = token
	expect.Must(b.Submit(ctx, p))

	expect.NoError(t, b.Maintain(ctx)) // the views so far, by minute and day
	expect.Must(ann.CreateWebhook(ctx, formsvc.WebhookCreate{Form: form, URL: receiver.URL + "/leased"}))
	submit()
	pool := storage.Pool{MaxDeliveries: 9}
	claimed, _, err := d.store().ClaimDeliveries(ctx, storage.ClaimParams{Lease: time.Hour, Fast: pool, Slow: pool, NewOrFailing: pool, PerWebhook: 9})
	expect.That(t, err == nil && len(claimed) > 0, "%d deliveries are claimed, %v", len(claimed), err)
	submit()
	b.Settings(form, `{"duplicateField":"text"}`)
	expect.NoError(t, b.Close(ctx))
}

// transient are columns that have a value only while another process works, or after a crash.
const transient = "forms.purged_at destinations.expired_at form_limits.count_at form_limits.counted_to"

// everyColumnHasAValue fails if a table is empty, or if a column is null in all of its rows.
func (d *releasedDatabase) everyColumnHasAValue() {
	d.t.Helper()
	for _, table := range d.tables() {
		for _, column := range d.query(`SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`, d.table(table)) {
			n := d.query("SELECT count(" + pgx.Identifier{column}.Sanitize() + ")::text FROM " + d.table(table))
			if n[0] == "0" && !strings.Contains(transient, table+"."+column) {
				d.t.Errorf("%s.%s never has a value", table, column)
			}
		}
	}
}

// state is what the service returns about everything, a line for each record.
func (d *releasedDatabase) state() string {
	t, ctx := d.t, d.t.Context()
	svc := servicetest.New(t, d.store(), servicetest.Loopback(), formsvc.WithoutRateLimit(), formsvc.WithClock(func() time.Time { return releasedNow }))
	var b strings.Builder
	record := func(kind string, v any, err error) {
		text, failed := json.Marshal(v)
		expect.NoError(t, errors.Join(err, failed))
		fmt.Fprintf(&b, "%s: %s\n", kind, text)
	}
	users := d.query(`SELECT DISTINCT encode(owner_id, 'hex') FROM ` + d.table("workspaces") + ` ORDER BY 1`)
	host := svc.AsHost()
	for _, user := range users {
		id := expect.Must(storage.ParseID(user))
		for _, path := range []string{"/workspaces?limit=100", "/forms?limit=100", "/webhooks?limit=100"} {
			w := httptest.NewRecorder()
			svc.As(id).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1"+path, nil))
			fmt.Fprintf(&b, "%s: %d %s\n", path, w.Code, w.Body)
		}
		keys, err := svc.Keys(ctx, id)
		record("keys", keys, err)
	}
	for workspace, err := range host.Workspaces(ctx, formsvc.Query{}) {
		record("workspace", workspace, err)
		members, err := svc.Members(ctx, workspace.ID)
		record("members", members, err)
		trash, err := svc.TrashedForms(ctx, workspace.ID)
		record("trash", trash, err)
	}
	for form, err := range host.Forms(ctx, formsvc.FormQuery{}) {
		record("form", form, err)
		for _, period := range []formsvc.Period{formsvc.Period7d, formsvc.PeriodAll} {
			metrics, err := host.Metrics(ctx, form.ID, period)
			record("metrics", metrics, err)
		}
		summary, err := host.Summary(ctx, form.ID, formsvc.SubmissionQuery{})
		record("summary", summary, err)
		expect.NoError(t, host.Export(ctx, &b, form.ID, formsvc.Export{Format: formsvc.NDJSON, Respondent: true, Changes: true, History: true}))
		for partial, err := range host.Partials(ctx, form.ID, formsvc.Query{}) {
			record("partial", partial, err)
		}
		for version, err := range host.Versions(ctx, form.ID) {
			record("version", version, err)
		}
		copied, err := host.WorkingCopy(form.ID).Form(ctx)
		record("working copy", copied, err)
		hooks, err := host.FormWebhooks(ctx, form.ID)
		record("webhooks", hooks, err)
		for _, hook := range hooks {
			deliveries, err := host.Deliveries(ctx, hook.ID)
			record("deliveries", deliveries, err)
		}
	}
	for hook, err := range host.PausedWebhooks(ctx, formsvc.Query{}) {
		record("paused webhook", hook, err)
	}
	expect.NoError(t, svc.Close(ctx))
	return b.String()
}

// continues uses the restored database, and then removes everything.
func (d *releasedDatabase) continues() {
	t, ctx := d.t, d.t.Context()
	b := servicetest.SetupOn(t, d.store(), servicetest.Loopback(), formsvc.WithoutRateLimit())
	for form, err := range b.AsHost().Forms(ctx, formsvc.FormQuery{}) {
		expect.NoError(t, err)
		if _, err := b.AsHost().UpdateForm(ctx, form.ID, formsvc.FormUpdate{Status: new(formsvc.StatusPublished), Definition: formsvc.Definition{Settings: json.RawMessage(`{}`)}}); err != nil {
			t.Errorf("publish %s: %v", form.ID, err)
		}
		if _, err := b.Submit(ctx, formsvc.SubmitParams{FormID: form.ID}); err != nil {
			t.Errorf("submit to %s: %v", form.ID, err)
		}
	}
	for hook, err := range b.LocalWebhooks().Webhooks(ctx, formsvc.Query{}) {
		expect.NoError(t, err)
		err = b.LocalWebhooks().DeleteWebhook(ctx, hook.ID)
		expect.That(t, err == nil || errors.Is(err, formsvc.ErrNotFound), "delete a local webhook: %v", err) // not found: it went with the one for all forms
	}
	expect.NoError(t, b.Maintain(ctx))
	for _, user := range d.query(`SELECT encode(owner_id, 'hex') FROM ` + d.table("workspaces") + ` UNION SELECT encode(user_id, 'hex') FROM ` + d.table("api_keys")) {
		expect.NoError(t, b.DeleteUser(ctx, expect.Must(storage.ParseID(user))))
	}
	for {
		n, err := b.PurgeTrash(ctx, time.Now().Add(time.Hour))
		expect.NoError(t, err)
		if n == 0 {
			break
		}
	}
	expect.NoError(t, b.Maintain(ctx))
	stay := []string{"formsvc_version", "formsvc_migrations", "upkeep", "arrivals"}
	for _, table := range d.tables() {
		n := d.query(`SELECT count(*)::text FROM ` + d.table(table))
		expect.That(t, n[0] == "0" || slices.Contains(stay, table), "%s rows of %s are left", n[0], table)
	}
}
