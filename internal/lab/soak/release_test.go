package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/formsvc/formsvc/internal/lab/fixture"
	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/storage/postgres"
)

// Who releases another version puts it here.
const (
	previous = "v0.1.0"                                   // the newest release: migrations of this build serve its program
	commit   = "08d1107500c023dcd59d106a094b0ce207f2f08d" // that gets the tag, for clones from before it is set
	leftBy   = "v0.1.0"                                   // the newest release with a database in internal/lab/fixture
)

// later are migrations to come. They add to the tables and say that these serve who they served.
var later = []string{
	`ALTER TABLE formsvc.forms ADD COLUMN folder text;
	CREATE TABLE formsvc.folders (id bytea PRIMARY KEY)`,
	`ALTER TABLE formsvc.submissions ADD COLUMN score integer NOT NULL DEFAULT 0`,
	`ALTER TABLE formsvc.deliveries ADD COLUMN note text;
	UPDATE formsvc.formsvc_version SET version = version + 1`,
}

// A rolling upgrade and its rollback. The program of the previous release works on the
// database that it has left; the tables are migrated meanwhile; this build's program joins it;
// then that one ends, and the release's goes on alone and starts anew. All the time there are
// responses, edits, purges, deliveries and maintenance by both, and nothing is lost, nothing
// happens twice, and nobody sees an error.
func TestAReleaseBesideThisBuild(t *testing.T) {
	t.Parallel()
	program := programOf(t, previous)
	b := newBeside(t)

	b.reads(program, "before the upgrade")
	b.makeForms(program)
	old := b.start(program, "old")
	b.begin()
	b.loaded(100)
	b.migrate()
	b.loaded(100)
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	next := b.start(own, "new")
	b.loaded(300)
	b.stopped(next)
	b.loaded(100)
	b.start(program, "old again")
	b.stopped(old)
	b.loaded(100)
	b.end()
	b.reads(program, "after the rollback", changed...)
}

// changed are the answers that the test changes: by deliveries, maintenance and forms of its own.
var changed = []string{"/deliveries", "/host/", "/v1/workspaces", "/v1/forms?", "/v1/webhooks?"}

// programOf builds this command as a release has it. Without its tag or commit in a whole clone
// it is not out yet, and this tree is what becomes it.
func programOf(t *testing.T, release string) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	run := func(dir, name string, args ...string) string {
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = dir
		out, err := command.CombinedOutput()
		if err != nil {
			t.Logf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	source := root
	migrations, err := fs.Glob(postgres.Migrations(), "*.up.sql")
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case run(root, "git", "tag", "--list", release) == release, run(root, "git", "cat-file", "-t", commit) == "commit":
		if run(root, "git", "tag", "--list", release) == "" {
			release = commit
		}
		source = t.TempDir()
		run(root, "sh", "-c", `git archive "$0" | tar -x -C "$1"`, release, source)
	case run(root, "git", "rev-parse", "--is-shallow-repository") != "false" || len(migrations) > 1:
		if os.Getenv("FORMSVC_TEST_REQUIRE_RELEASE") == "1" {
			t.Fatalf("the tag %s is not in this clone: git fetch --tags --unshallow", release)
		}
		t.Skipf("the tag %s is not in this clone: git fetch --tags --unshallow", release)
	}
	program := filepath.Join(t.TempDir(), "soak")
	run(source, "go", "build", "-trimpath", "-o", program, "./internal/lab/soak")
	if _, err := os.Stat(program); err != nil {
		t.Fatal(err)
	}
	return program
}

// beside is a release's database, on which programs of two builds work.
type beside struct {
	t         *testing.T
	kept      fixture.Kept
	log       *os.File
	config    serverConfig
	receiver  *ledger.Receiver
	waiting   map[string]fixture.Received
	others    *fixture.Receiver // what the release's webhooks get
	db        *database
	workspace string

	processes []*process
	mu        sync.RWMutex // of urls; whoever asks a process holds it for reading
	urls      []string

	load  *load
	edits sync.WaitGroup
	stop  context.CancelFunc // of the load and the edits
	ended chan struct{}      // by the load
	found chan string        // by the edits
}

func newBeside(t *testing.T) *beside {
	t.Helper()
	kept, err := fixture.Open(leftBy)
	if err != nil {
		t.Fatal(err)
	}
	b := &beside{t: t, kept: kept, log: logFile(t), others: &fixture.Receiver{Secrets: kept.Secrets}, ended: make(chan struct{}), found: make(chan string, 100)}
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t)
	if err := kept.Restore(t.Context(), pool, schema); err != nil {
		t.Fatal(err)
	}
	if b.waiting, err = kept.Waiting(t.Context(), pool, schema); err != nil || len(b.waiting) == 0 {
		t.Fatalf("%d deliveries wait: %v", len(b.waiting), err)
	}
	if b.receiver, err = ledger.StartReceiver("127.0.0.1:0", 1, 0, nil); err != nil {
		t.Fatal(err)
	}
	b.receiver.Others = b.others
	t.Cleanup(func() {
		for _, p := range b.processes { // those that a failure has left
			_ = p.kill()
		}
		if err := b.receiver.Close(); err != nil {
			t.Error(err)
		}
	})
	b.db = &database{pool: pool, schema: schema}
	b.config = serverConfig{
		Database: pgtest.URL(t), Schema: schema, Timeout: 5 * time.Second, InFlight: defaultInFlight, Receiver: b.receiver.Address(),
	}
	return b
}

// reads asks a program alone what the release has told.
func (b *beside) reads(program, when string, but ...string) {
	b.t.Helper()
	c := b.config
	c.Still = b.kept.At
	p, err := startProgram(program, c, b.log)
	if err != nil {
		b.t.Fatal(err)
	}
	told := b.kept.Told
	told.Answers = nil
	for _, a := range b.kept.Answers {
		named := false
		for _, part := range but {
			named = named || strings.Contains(a.Path, part)
		}
		if !named {
			told.Answers = append(told.Answers, a)
		}
	}
	client := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	found, err := told.Differences(b.t.Context(), fixture.There(client, p.url))
	if err != nil {
		b.t.Error(err)
	}
	for _, f := range found {
		b.t.Errorf("%s: %s", when, f)
	}
	b.stopped(p)
}

func (b *beside) start(program, name string) *process {
	b.t.Helper()
	c := b.config
	c.Name = name
	p, err := startProgram(program, c, b.log)
	if err != nil {
		b.t.Fatal(err)
	}
	b.processes = append(b.processes, p)
	b.point()
	return p
}

// point sends the load to the processes that run.
func (b *beside) point() {
	urls := make([]string, len(b.processes))
	for i, p := range b.processes {
		urls[i] = p.url
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.urls = urls
}

// makeForms makes the forms of the load, through the release's program.
func (b *beside) makeForms(program string) {
	b.t.Helper()
	p := b.start(program, "forms")
	to, err := url.Parse(p.url)
	if err != nil {
		b.t.Fatal(err)
	}
	api := client{b.t.Context(), httputil.NewSingleHostReverseProxy(to), b.kept.Keys["ann"]}
	workspace, err := api.call(http.MethodPost, "/v1/workspaces", `{"name":"load"}`)
	if err != nil {
		b.t.Fatal(err)
	}
	b.workspace = workspace.String()
	hooks := make([]string, destinations)
	for number := range hooks {
		hooks[number] = b.receiver.WebhookURL(number)
	}
	for range spread {
		form, err := api.form(workspace, hooks)
		if err != nil {
			b.t.Fatal(err)
		}
		b.db.forms = append(b.db.forms, form)
	}
	b.config.Forms = b.db.forms
	b.stopped(p)
}

// begin begins the load, and edits of some of its forms.
func (b *beside) begin() {
	ctx, stop := context.WithCancel(b.t.Context())
	b.stop = stop
	b.load = newLoad(func() []string {
		b.mu.RLock()
		defer b.mu.RUnlock()
		return b.urls
	})
	go func() {
		defer close(b.ended)
		b.load.run(b.t.Context(), ctx, defaultWorkers, 1, nil)
	}()
	for i := range edited {
		b.edits.Go(func() { b.edit(ctx, i) })
	}
	b.edits.Go(func() { b.purge(ctx) })
}

// loaded waits until so many more responses are acknowledged.
func (b *beside) loaded(n int) {
	b.t.Helper()
	acknowledged := func() (n int) {
		b.load.note(func() { n = len(b.load.acknowledged) })
		return n
	}
	deadline := time.After(requestTimeout)
	for n += acknowledged(); acknowledged() < n; {
		select {
		case <-b.load.progress:
		case <-deadline:
			var others []string
			b.load.note(func() { others = b.load.unexpected[:min(3, len(b.load.unexpected))] })
			b.t.Fatalf("in %s %d responses were acknowledged, want %d; other answers: %q", requestTimeout, acknowledged(), n, others)
		}
	}
}

// migrate does what the next release does first.
func (b *beside) migrate() {
	b.t.Helper()
	if err := postgres.Migrate(b.t.Context(), b.db.pool, postgres.WithSchema(b.db.schema)); err != nil {
		b.t.Fatal(err)
	}
	for _, migration := range later {
		if _, err := b.db.pool.Exec(b.t.Context(), b.db.sql(migration), pgx.QueryExecModeSimpleProtocol); err != nil {
			b.t.Fatal(err)
		}
	}
}

// ask calls a process, one or the other, and reports an answer that is not the wanted one.
func (b *beside) ask(random *rand.Rand, method, path, body, ifMatch string, want int) (answer []byte, tag string, ok bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.urls[random.IntN(len(b.urls))]+path, strings.NewReader(body))
	if err != nil {
		panic(err) // the test has written it
	}
	r.Header.Set("X-API-Key", b.kept.Keys["ann"])
	r.Header.Set("Content-Type", "application/json")
	if ifMatch != "" {
		r.Header.Set("If-Match", ifMatch)
	}
	response, err := b.load.client.Do(r)
	if err == nil {
		answer, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	if err != nil || response.StatusCode != want {
		b.finds("%s %s %s: %v %s, want %d", method, path, body, err, answer, want)
		return nil, "", false
	}
	return answer, response.Header.Get("ETag"), true
}

func (b *beside) finds(format string, args ...any) {
	select {
	case b.found <- fmt.Sprintf(format, args...):
	default: // there are enough
	}
}

// edited is how many of the load's forms are edited all the time.
const edited = 3

// settingsInTurn: counts of a limit and entries of answers begin and end under the load.
var settingsInTurn = []string{`{}`, `{"responseLimit":100000}`, `{"duplicateField":"` + ledger.Block + `"}`, `{"responseLimit":100000,"duplicateField":"` + ledger.Block + `"}`}

// edit changes a form again and again. No other edit comes between, so each finds the one before.
func (b *beside) edit(stop context.Context, number int) {
	random := rand.New(rand.NewPCG(1, 200+uint64(number)))
	path := "/v1/forms/" + b.db.forms[number].String()
	_, tag, ok := b.ask(random, http.MethodGet, path, "", "", http.StatusOK)
	for i := 0; ok && (stop.Err() == nil || i%len(settingsInTurn) != 0); i++ {
		name := fmt.Sprintf("edit %d", i)
		body := `{"name":"` + name + `","definition":{"settings":` + settingsInTurn[i%len(settingsInTurn)] + `}}`
		if _, tag, ok = b.ask(random, http.MethodPatch, path, body, tag, http.StatusOK); !ok {
			return
		}
		var answer []byte
		if answer, _, ok = b.ask(random, http.MethodGet, path, "", "", http.StatusOK); ok && !bytes.Contains(answer, []byte(`"`+name+`"`)) {
			b.finds("after %s the form is %s", name, answer)
		}
	}
}

// purge makes forms with a webhook and a response, and removes them for good.
func (b *beside) purge(stop context.Context) {
	random := rand.New(rand.NewPCG(1, 300))
	id := func(answer []byte) string {
		var made struct{ ID string }
		_ = json.Unmarshal(answer, &made)
		return made.ID
	}
	for i := 0; stop.Err() == nil; i++ {
		answer, _, ok := b.ask(random, http.MethodPost, "/v1/forms", `{"workspace_id":"`+b.workspace+`","name":"purged","definition":{"blocks":[{"id":"`+ledger.Block+`","type":"short_text"}]}}`, "", http.StatusCreated)
		form := id(answer)
		path := "/v1/forms/" + form
		for _, step := range []struct {
			method, path, body string
			want               int
		}{
			{http.MethodPatch, path, `{"status":"published"}`, http.StatusOK},
			{http.MethodPost, "/v1/webhooks", `{"form_id":"` + form + `","url":"http://127.0.0.1` + purged + `"}`, http.StatusCreated},
			{http.MethodPost, "/", `{"Key":"purged","Form":"` + form + `"}`, http.StatusOK},
			{http.MethodDelete, path, "", http.StatusNoContent},
			{http.MethodPost, "/purge/" + form, "", http.StatusOK},
			{http.MethodGet, path, "", http.StatusNotFound},
		} {
			if ok {
				_, _, ok = b.ask(random, step.method, step.path, step.body, "", step.want)
			}
		}
		if !ok {
			return
		}
	}
}

// purged is where the webhooks of forms go that are purged: nobody knows what comes there.
const purged = "/purged"

// end ends the load and compares everything.
func (b *beside) end() {
	b.t.Helper()
	ctx := b.t.Context()
	b.stop()
	<-b.ended
	b.edits.Wait()
	r := result{plan: plan{processes: 2, inFlight: defaultInFlight}}
	r.ledger.Acknowledged, r.ledger.Unanswered, r.unexpected = b.load.acknowledged, b.load.unanswered, b.load.unexpected
	var err error
	if r.drained, err = drain(ctx, b.db, time.Minute); err != nil {
		b.t.Fatal(err)
	}
	b.tidied()
	b.stopped(b.processes...)
	if err := r.compare(ctx, b.db, b.receiver); err != nil {
		b.t.Fatal(err)
	}
	if !r.ok() {
		b.t.Errorf("%s", r)
	}
	for len(b.found) > 0 {
		b.t.Error(<-b.found)
	}
	var got []fixture.Received
	for _, one := range b.others.Got() {
		if one.Path != purged {
			got = append(got, one)
		}
	}
	for _, f := range fixture.Missent(b.waiting, got) {
		b.t.Error(f)
	}
	if text := readLog(b.t, b.log); bytes.Contains(text, []byte("level=ERROR")) {
		b.t.Error("a process has logged an error")
	}
	b.t.Logf("%s", r)
}

// tidied waits for maintenance to finish what the release and the edits have begun.
func (b *beside) tidied() {
	b.t.Helper()
	const left = `SELECT
		(SELECT count(*) FROM formsvc.forms f WHERE f.purged_at IS NOT NULL OR f.unique_block <> '' AND NOT f.duplicates_covered)
		+ (SELECT count(*) FROM formsvc.workspaces w WHERE w.purged) + (SELECT count(*) FROM formsvc.funnel_log)
		+ (SELECT count(*) FROM formsvc.form_limits l JOIN formsvc.forms f ON f.id = l.form_id
			WHERE l.count_at IS NOT NULL OR l.submission_count <> f.places_kept + (SELECT count(*) FROM formsvc.submissions s WHERE s.form_id = f.id))
		+ (SELECT count(*) FROM formsvc.submissions s JOIN formsvc.forms f ON f.id = s.form_id AND f.unique_block <> ''
			WHERE NOT EXISTS (SELECT FROM formsvc.unique_answers u WHERE u.form_id = s.form_id AND u.submission_id = s.id AND u.block_id = f.unique_block))`
	for deadline := time.Now().Add(20 * time.Second); ; pause(b.t.Context(), drainPoll) {
		var n int
		if err := b.db.pool.QueryRow(b.t.Context(), b.db.sql(left)).Scan(&n); err != nil {
			b.t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			b.t.Errorf("%d pieces of maintenance are left", n)
			return
		}
	}
}

// stopped ends processes, which answer what they have taken.
func (b *beside) stopped(ending ...*process) {
	b.t.Helper()
	for _, p := range ending {
		for i, other := range b.processes {
			if p == other {
				b.processes = append(b.processes[:i:i], b.processes[i+1:]...)
			}
		}
		b.point()
		if err := p.stop(); err != nil {
			b.t.Error(err)
		}
	}
}
