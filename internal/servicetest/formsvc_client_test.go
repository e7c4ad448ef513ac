package servicetest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/storage/postgres"
)

// Lists page by themselves: a zero query lists everything, a limit ends the list, and
// the loop may end it as well.
func TestListsOfTheClientPageByThemselves(t *testing.T) {
	t.Parallel()
	for name, store := range servicetest.Stores(t) {
		const count = 257 // three pages
		b := servicetest.SetupOn(t, store, formsvc.WithoutRateLimit(), formsvc.WithLimits(formsvc.Limits{Workspaces: 300}))
		c := b.As(b.User.ID)
		form := b.Form(servicetest.TextBlock, `{}`)
		var want []formsvc.ID
		for i := range count {
			s := expect.Must(b.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", fmt.Sprintf(`"%d"`, i))}))
			want = append([]formsvc.ID{s.ID}, want...)
		}
		collect := func(q formsvc.SubmissionQuery, until int) (got []formsvc.ID) {
			for s, err := range c.Submissions(t.Context(), form, q) {
				expect.NoError(t, err)
				if got = append(got, s.ID); len(got) == until {
					break
				}
			}
			return got
		}
		for _, k := range []struct{ limit, until, want int }{{0, 0, count}, {-1, 0, count}, {1, 0, 1}, {100, 0, 100}, {101, 0, 101}, {1000, 0, count}, {0, 150, 150}} {
			if got := collect(formsvc.SubmissionQuery{Limit: k.limit}, k.until); fmt.Sprint(got) != fmt.Sprint(want[:k.want]) {
				t.Errorf("%s: with the limit %d, ended after %d: %d records, want the newest %d", name, k.limit, k.until, len(got), k.want)
			}
		}

		// The context ends a list in the middle, with its error.
		ctx, cancel := context.WithCancel(t.Context())
		seen, last := 0, error(nil)
		for _, err := range c.Submissions(ctx, form, formsvc.SubmissionQuery{}) {
			if last = err; err == nil {
				seen++
			}
			cancel()
		}
		expect.That(t, seen == 1 && errors.Is(last, context.Canceled),
			"%s: %d records and then %v, want one and context.Canceled", name, seen, last)
		cancel()
		for _, err := range b.As(formsvc.UserIDFrom("stranger")).Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
			expect.That(t, errors.Is(err, formsvc.ErrNotFound), "%s: a stranger sees %v, want ErrNotFound", name, err)
		}
	}
}

// What cannot be said over HTTP is refused here as well.
func TestWhatOnlyGoCanSayIsChecked(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	c := b.As(b.User.ID)
	update := func(u formsvc.FormUpdate) error {
		_, err := c.UpdateForm(t.Context(), form, u)
		return err
	}
	text := "\xff"
	for want, err := range map[string]error{
		"/name BAD_FORMAT":              update(formsvc.FormUpdate{Name: &text}),
		"/definition/blocks BAD_FORMAT": update(formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage(`[],"settings":{}`)}}),
		" TOO_LONG":                     update(formsvc.FormUpdate{Definition: formsvc.Definition{Blocks: json.RawMessage("[" + strings.Repeat(" ", 1<<20) + "]")}}),
		" BAD_FORMAT":                   update(formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"closed":true,"closed":false}`)}}),
		" TOO_FEW":                      update(formsvc.FormUpdate{}),
	} {
		expect.Equal(t, violations(err), want, "faults")
	}
	if _, err := c.CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: "x", Owner: formsvc.UserIDFrom("other")}); !errors.Is(err, formsvc.ErrNotOwner) {
		t.Errorf("a workspace for another user: %v, want ErrNotOwner", err)
	}
	if _, err := b.AsHost().CreateWorkspace(t.Context(), formsvc.WorkspaceCreate{Name: ""}); violations(err) != "/name TOO_SHORT" && violations(err) != "/owner REQUIRED" {
		t.Errorf("a workspace of nobody: %v", err)
	}
	for range b.As(formsvc.ID{}).Forms(t.Context(), formsvc.FormQuery{}) {
		t.Error("nobody sees a form")
	}
	w, err := b.AsHost().CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "http://127.0.0.1/"})
	expect.That(t, violations(err) == "/url NOT_ALLOWED" && w == (formsvc.Webhook{}), "a private URL: %+v, %v", w, err)
}

func TestWhatANewRecordBelongsToIsRequired(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	_, formErr := b.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Name: "F"})
	_, hookErr := b.AsHost().CreateWebhook(t.Context(), formsvc.WebhookCreate{URL: "https://example.com/"})
	expect.Equal(t, violations(formErr), "/workspace_id REQUIRED", "a form")
	expect.Equal(t, violations(hookErr), "/form_id REQUIRED", "a webhook")
}

// everyType is a form with every type of block that answers.
const everyType = `[
	{"id":"text","type":"short_text","label":"Text"},
	{"id":"long","type":"long_text","label":"Long"},
	{"id":"email","type":"email","label":"E-mail"},
	{"id":"phone","type":"phone","label":"Phone"},
	{"id":"site","type":"website","label":"Site"},
	{"id":"number","type":"number","label":"Number"},
	{"id":"rating","type":"rating","label":"Rating"},
	{"id":"scale","type":"opinion_scale","label":"Scale"},
	{"id":"nps","type":"nps","label":"Recommend"},
	{"id":"yes","type":"yes_no","label":"Yes"},
	{"id":"legal","type":"legal","label":"Legal"},
	{"id":"group","type":"group","label":"Group","children":[
		{"id":"one","type":"single_choice","label":"One","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}],"properties":{"otherOption":true}},
		{"id":"drop","type":"dropdown","label":"Drop","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}]}]},
	{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"},{"id":"c","label":"Corn"}],"properties":{"otherOption":true}},
	{"id":"picture","type":"picture_choice","label":"Picture","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}]},
	{"id":"pictures","type":"picture_choice","label":"Pictures","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}],"properties":{"multiSelection":true}},
	{"id":"rank","type":"ranking","label":"Rank","choices":[{"id":"a","label":"Apple"},{"id":"b","label":"Beet"}]},
	{"id":"grid","type":"matrix","label":"Grid","matrix_rows":[{"id":"z","label":"First"},{"id":"y","label":"Second"}],"matrix_columns":[{"id":"good","label":"Good"},{"id":"bad","label":"Bad"}]},
	{"id":"grids","type":"matrix","label":"Grids","matrix_rows":[{"id":"z","label":"First"}],"matrix_columns":[{"id":"good","label":"Good"},{"id":"bad","label":"Bad"}],"properties":{"multiSelection":true}},
	{"id":"day","type":"date","label":"Day"},
	{"id":"moment","type":"date","label":"Moment","properties":{"showTimePicker":true}},
	{"id":"time","type":"time","label":"Time"},
	{"id":"address","type":"address","label":"Address","properties":{"addressOrContact":{"firstName":{"hide":true},"lastName":{"hide":true}}}},
	{"id":"contact","type":"contact_info","label":"Contact"},
	{"id":"country","type":"country","label":"Country"},
	{"id":"files","type":"file_upload","label":"Files","properties":{"multipleFiles":true}},
	{"id":"sign","type":"signature","label":"Signature"},
	{"id":"pay","type":"payment","label":"Payment"},
	{"id":"end","type":"ending"}]`

// everyAnswer answers everyType.
func everyAnswer(form formsvc.ID) formsvc.SubmitParams {
	file := func(name string) string {
		return `{"id":"` + name + `","name":"` + name + `.pdf","url":"https://files.example.com/` + name + `","mime_type":"application/pdf","size":12}`
	}
	return formsvc.SubmitParams{
		FormID: form,
		Answers: servicetest.Answers(
			"text", `"=1+1"`, "long", `"a\nb"`, "email", `"ada@example.com"`, "phone", `"+442083661177"`, "site", `"https://example.com/"`,
			"number", `-1.50`, "rating", `4`, "scale", `7`, "nps", `9`, "yes", `true`, "legal", `false`,
			"one", `{"other":"-2"}`, "drop", `"b"`, "many", `["a","c",{"other":"dill; mint"}]`, "picture", `"a"`, "pictures", `["b"]`,
			"rank", `["b","a"]`, "grid", `{"y":"bad","z":"good"}`, "grids", `{"z":["good","bad"]}`,
			"day", `"2026-02-28"`, "moment", `"2026-02-28T10:30:00Z"`, "time", `"08:33"`,
			"address", `{"address":"1 High Street","city":"Utrecht","country":"NL"}`, "contact", `{"firstName":"Ada","phone":"+442083661177"}`, "country", `"NL"`,
		),
		HostAnswers: servicetest.Answers("files", "["+file("one")+","+file("two")+"]", "sign", strings.NewReplacer("pdf", "png", "application", "image").Replace(file("sig")),
			"pay", `{"amount":"10.00","currency":"EUR","status":"paid","gateway":"bank","reference":"r1"}`),
		Hidden: map[string]string{"ref": "@home"},
	}
}

// everyTypeForm makes a published form of everyType with one hidden field.
func everyTypeForm(b *servicetest.Bundle) formsvc.ID {
	b.T.Helper()
	f, err := b.As(b.User.ID).CreateForm(b.T.Context(), formsvc.FormCreate{
		Workspace: b.Workspace, Name: "Every type",
		Definition: formsvc.Definition{Blocks: json.RawMessage(everyType), HiddenFields: json.RawMessage(`["ref"]`)},
	})
	if err == nil {
		_, err = b.As(b.User.ID).PublishForm(b.T.Context(), f.ID)
	}
	expect.NoError(b.T, err)
	return f.ID
}

func TestEveryStoredAnswerHasAGoValue(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	form := everyTypeForm(b)
	expect.Must(b.Submit(t.Context(), everyAnswer(form)))
	apple, beet, corn := schema.Pick{ID: "a", Label: "Apple"}, schema.Pick{ID: "b", Label: "Beet"}, schema.Pick{ID: "c", Label: "Corn"}
	good, bad := schema.Pick{ID: "good", Label: "Good"}, schema.Pick{ID: "bad", Label: "Bad"}
	file := func(name string) schema.File {
		return schema.File{ID: name, Name: name + ".pdf", URL: "https://files.example.com/" + name, MIMEType: "application/pdf", Size: 12}
	}
	want := []struct {
		id    string
		value schema.Value
		text  string
	}{
		{"text", schema.String("=1+1"), "=1+1"},
		{"long", schema.String("a\nb"), "a\nb"},
		{"email", schema.String("ada@example.com"), "ada@example.com"},
		{"phone", schema.String("+442083661177"), "+442083661177"},
		{"site", schema.String("https://example.com/"), "https://example.com/"},
		{"number", schema.Number(-1.5), "-1.5"},
		{"rating", schema.Number(4), "4"},
		{"scale", schema.Number(7), "7"},
		{"nps", schema.Number(9), "9"},
		{"yes", schema.Bool(true), "true"},
		{"legal", schema.Bool(false), "false"},
		{"one", schema.Picks{{Other: "-2"}}, "-2"},
		{"drop", schema.Picks{beet}, "Beet"},
		{"many", schema.Picks{apple, corn, {Other: "dill; mint"}}, "Apple, Corn, dill; mint"},
		{"picture", schema.Picks{apple}, "Apple"},
		{"pictures", schema.Picks{beet}, "Beet"},
		{"rank", schema.Picks{beet, apple}, "Beet, Apple"},
		{"grid", schema.Matrix{{ID: "z", Picks: schema.Picks{good}}, {ID: "y", Picks: schema.Picks{bad}}}, "z: Good; y: Bad"},
		{"grids", schema.Matrix{{ID: "z", Picks: schema.Picks{good, bad}}}, "z: Good, Bad"},
		{"day", schema.Date{Time: time.Date(2026, 2, 28, 0, 0, 0, 0, time.UTC)}, "2026-02-28"},
		{"moment", schema.Date{Time: time.Date(2026, 2, 28, 10, 30, 0, 0, time.UTC), HasTime: true}, "2026-02-28T10:30:00Z"},
		{"time", schema.String("08:33"), "08:33"},
		{"address", schema.Contact{Address: "1 High Street", City: "Utrecht", Country: "NL"}, "1 High Street, Utrecht, NL"},
		{"contact", schema.Contact{FirstName: "Ada", Phone: "+442083661177"}, "Ada, +442083661177"},
		{"country", schema.String("NL"), "NL"},
		{"files", schema.Files{file("one"), file("two")}, "one.pdf, two.pdf"},
		{"sign", schema.Files{{ID: "sig", Name: "sig.png", URL: "https://files.example.com/sig", MIMEType: "image/png", Size: 12}}, "sig.png"},
		{"pay", schema.Payment{Amount: "10.00", Currency: "EUR", Status: "paid", Gateway: "bank", Reference: "r1"}, "10.00 EUR paid"},
		{"ref", schema.String("@home"), "@home"},
	}
	for s, err := range b.AsHost().Submissions(t.Context(), form, formsvc.SubmissionQuery{}) {
		expect.NoError(t, err)
		got := expect.Must(formsvc.DecodeAnswers(s))
		expect.Require(t, len(got) == len(want), "%d answers, want %d: %v", len(got), len(want), got)
		for i, w := range want {
			if a := got[i]; a.ID != w.id || !cmp.Equal(a.Value, w.value) || a.String() != w.text || !json.Valid(a.JSON) {
				t.Errorf("answer %d is %s %#v (%q), want %s %#v (%q)", i, a.ID, a.Value, a, w.id, w.value, w.text)
			}
		}
		last := got[len(got)-1]
		expect.That(t, last.Type == schema.TypeHidden, "the hidden field has the type %q", last.Type)
	}

	// A value of a shape that another release stored is handed out as JSON. Only what is
	// not a list of answers, each with its field and value, is an error.
	for raw, kind := range map[string]schema.Value{
		`{"a":[1]}`: schema.Other(`{"a":[1]}`), `[1,2]`: schema.Other(`[1,2]`), `null`: schema.Other(`null`), `7`: schema.Number(7), `"x"`: schema.String("x"),
	} {
		for _, fieldType := range []string{"matrix", "variable", "no_such_type", "date", "payment"} {
			got, err := schema.DecodeAnswers(json.RawMessage(`[{"field":{"id":"f","type":"` + fieldType + `"},"value":` + raw + `}]`))
			expect.That(t, err == nil && len(got) == 1 && cmp.Equal(got[0].Value, kind),
				"%s of type %s is %#v, %v; want %#v", raw, fieldType, got, err, kind)
		}
	}
	_, err := formsvc.DecodeAnswers(formsvc.Submission{Answers: json.RawMessage(`{}`)})
	expect.That(t, err != nil, "an object is taken for a list of answers")
}

// What a Client returns is the caller's, also on a storage that hands out its own bytes.
func TestFormsOfAClientAreTheCallers(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	host, form := b.AsHost(), b.Form(servicetest.TextBlock, `{}`)
	want := expect.Must(host.Form(t.Context(), form))
	for range 2 {
		f, err := host.Form(t.Context(), form)
		if err != nil || !cmp.Equal(f, want) {
			t.Fatalf("%v %s", err, cmp.Diff(want, f))
		}
		all := expect.Must(host.Blocks(t.Context(), form))
		one := expect.Must(host.Block(t.Context(), form, "name"))
		for _, text := range [][]byte{f.Definition.Blocks, f.Definition.Settings, all.JSON, one.JSON} {
			clear(text)
		}
	}
}

func TestDecodeForm(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t)
	f, err := b.AsHost().CreateForm(t.Context(), formsvc.FormCreate{Workspace: b.Workspace, Name: "F", Definition: formsvc.Definition{
		Blocks: json.RawMessage(servicetest.TextBlock), Settings: json.RawMessage(`{"submitLabel":"Send"}`), Theme: json.RawMessage(`{"customCss":"a{}"}`),
		Variables: json.RawMessage(`{"score":1.5,"level":"low"}`), HiddenFields: json.RawMessage(`["ref"]`),
	}})
	expect.NoError(t, err)
	c, err := formsvc.DecodeForm(f)
	if err != nil || c.Blocks[0].ID != "name" || c.Settings.SubmitLabel != "Send" || c.Theme.CustomCSS != "a{}" ||
		!cmp.Equal(c.Variables, map[string]any{"score": 1.5, "level": "low"}) || !cmp.Equal(c.HiddenFields, []string{"ref"}) {
		t.Errorf("%+v, %v", c, err)
	}
	for listed, err := range b.AsHost().Forms(t.Context(), formsvc.FormQuery{}) {
		expect.NoError(t, err)
		if c, err := formsvc.DecodeForm(listed); err == nil {
			t.Errorf("a form out of a list, which has no definition, is decoded to %+v", c)
		}
	}
	for _, broken := range []formsvc.Definition{{Blocks: []byte(`{}`)}, {Settings: []byte(`[]`)}, {Theme: []byte(`1`)}, {Variables: []byte(`[]`)}, {HiddenFields: []byte(`{}`)}} {
		if c, err := formsvc.DecodeForm(formsvc.Form{FormContent: formsvc.FormContent{Definition: broken}}); err == nil {
			t.Errorf("%+v is decoded to %+v", broken, c)
		}
	}
}

// A host submits inside its own transaction: what it rolls back never was, and
// what it commits is sent.
func TestASubmitInTheHostsTransaction(t *testing.T) {
	t.Parallel()
	url, requests := servicetest.Receiver(t)
	schema := pgtest.Schema(t)
	pool := pgtest.Pool(t, pgtest.MaxConns(8))
	store := servicetest.Migrated(t, pool, postgres.WithSchema(schema))
	b := servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	b.Webhook(form, url, servicetest.Secret)
	b.Dispatch()

	submit := func(name string, end func(pgx.Tx) error) {
		t.Helper()
		tx := expect.Must(pool.Begin(t.Context()))
		inTx := b.WithStorage(store.On(tx))
		expect.Must(inTx.Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"`+name+`"`)}))
		expect.NoError(t, end(tx))
		b.Dispatcher().Wake()
	}
	submit("rolled back", func(tx pgx.Tx) error { return tx.Rollback(t.Context()) })
	expect.Equal(t, b.Submissions(form), 0, "submissions after a rollback")
	submit("committed", func(tx pgx.Tx) error { return tx.Commit(t.Context()) })
	got := <-requests
	expect.That(t, strings.Contains(got.Body, "committed"), "sent %s, want the response that was committed", got.Body)
	expect.Equal(t, b.Submissions(form), 1, "submissions")
}

// A host that forgets the schema of its service does not write into another one.
func TestAStoreOnATransactionKeepsItsSchema(t *testing.T) {
	t.Parallel()
	database := pgtest.NewServer(t, pgtest.Config{})
	pool := pgtest.PoolAt(t, database.URL())
	other := servicetest.Migrated(t, pool)
	store := servicetest.Migrated(t, pool, postgres.WithSchema("tenant"))
	b := servicetest.SetupOn(t, store)
	form := b.Form(servicetest.TextBlock, `{}`)

	submit := func(on func(pgx.Tx) storage.Storage) error {
		return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			_, err := b.WithStorage(on(tx)).Submit(t.Context(), formsvc.SubmitParams{FormID: form, Answers: servicetest.Answers("name", `"x"`)})
			return err
		})
	}
	expect.Error(t, "Store.On", submit(func(tx pgx.Tx) storage.Storage { return store.On(tx) }), nil)
	err := submit(func(tx pgx.Tx) storage.Storage { return postgres.New(tx) })
	expect.That(t, err != nil && strings.Contains(err.Error(), `"tenant"`),
		"New without a schema: %v, want an error that names the other schema", err)
	for name, named := range map[string]postgres.Option{"the right one": postgres.WithSchema("tenant"), "the default one": postgres.WithSchema(postgres.DefaultSchema)} {
		err := submit(func(tx pgx.Tx) storage.Storage { return postgres.New(tx, named) })
		if (err == nil) != (name == "the right one") || err != nil && !errors.Is(err, formsvc.ErrNotFound) {
			t.Errorf("New with the schema of %s: %v", name, err)
		}
	}
	expect.Equal(t, b.Submissions(form), 2, "submissions")
	found, err := other.Workspaces(t.Context(), storage.AsHost(), storage.Page{Limit: 1})
	expect.That(t, err == nil && len(found) == 0, "the other schema has %d workspaces, %v", len(found), err)

	// With one schema in the database there is nothing to forget. What the service has gathered
	// goes with the other one.
	expect.NoError(t, b.Close(t.Context()))
	expect.Must(pool.Exec(t.Context(), `DROP SCHEMA tenant CASCADE`))
	err = submit(func(tx pgx.Tx) storage.Storage { return postgres.New(tx) })
	expect.That(t, errors.Is(err, formsvc.ErrNotFound), "New without a schema, in a database with one: %v, want ErrNotFound", err)
}

// auditing is a host's decorator.
type auditing struct{ *postgres.Store }

func TestNewRefusesAStorageThatIsNone(t *testing.T) {
	t.Parallel()
	var pool *pgxpool.Pool
	svc := servicetest.New(t, memory.New())
	for _, c := range []struct {
		store storage.Storage
		says  string
	}{
		{nil, "nil"},
		{(*memory.Store)(nil), "*memory.Store"},
		{(*postgres.Store)(nil), "*postgres.Store"},
		{auditing{}, "the store is nil"},
		{&postgres.Store{}, "the pool or transaction is nil"},
		{postgres.New(nil), "the pool or transaction is nil"},
		{postgres.New(pool), "the pool or transaction is nil"},
		{auditing{postgres.New(pool)}, "the pool or transaction is nil"},
	} {
		_, err := formsvc.New(formsvc.WithStorage(c.store))
		expect.That(t, err != nil && strings.Contains(err.Error(), "WithStorage") && strings.Contains(err.Error(), c.says),
			"New with %T = %v, want an error with %q", c.store, err, c.says)
		said := fmt.Sprint(panicOf(func() { svc.WithStorage(c.store) }))
		expect.That(t, strings.Contains(said, "formsvc: WithStorage: ") && strings.Contains(said, c.says),
			"WithStorage(%T) says %q, want %q", c.store, said, c.says)
	}
}

// panicOf returns what f panics with.
func panicOf(f func()) (thrown any) {
	defer func() { thrown = recover() }()
	f()
	return nil
}

// Every method of a zero Client says what is wrong.
func TestAZeroClientSaysSo(t *testing.T) {
	t.Parallel()
	client := reflect.ValueOf(formsvc.Client{})
	for i := range client.NumMethod() {
		method, name := client.Method(i), client.Type().Method(i).Name
		var args []reflect.Value
		fixed := method.Type().NumIn()
		if method.Type().IsVariadic() {
			fixed--
		}
		for k := range fixed {
			arg := reflect.New(method.Type().In(k)).Elem()
			if arg.Type() == reflect.TypeFor[context.Context]() {
				arg.Set(reflect.ValueOf(t.Context()))
			}
			args = append(args, arg)
		}
		said := panicOf(func() {
			out := method.Call(args)
			if out[0].Kind() == reflect.Func { // a list, which reads in its loop
				for range out[0].Seq2() {
					break
				}
			}
		})
		text, ok := said.(string)
		expect.That(t, ok && strings.Contains(text, "Client is a zero value"), "%s: %v", name, said)
	}
}

func TestAClosedPoolIsUnavailable(t *testing.T) {
	t.Parallel()
	schema := pgtest.Schema(t)
	servicetest.Migrated(t, pgtest.Pool(t), postgres.WithSchema(schema))
	pool := expect.Must(pgxpool.New(t.Context(), pgtest.URL(t)))
	b := servicetest.SetupOn(t, postgres.New(pool, postgres.WithSchema(schema)), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	pool.Close()
	for _, r := range []struct{ method, path, body string }{
		{http.MethodGet, "/workspaces", ""},
		{http.MethodPatch, "/forms/" + form.String(), `{"name":"Other"}`},
	} {
		if w := b.Do(r.method, r.path, r.body, nil); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("%s %s: %d %s, want 503 with Retry-After", r.method, r.path, w.Code, w.Body)
		}
	}
	expect.Error(t, "Submit", expect.ErrorOf(b.Answer(form, "name", `"x"`)), storage.ErrUnavailable)
	// What waits to be written cannot be any more, and the next call has nothing left to write.
	expect.Error(t, "Close", b.Close(t.Context()), storage.ErrUnavailable)
}

// panickyStore is a host's storage with a fault: while broken it panics after it has made room
// for deliveries, or fails and gives the room back late, when its caller has gone.
type panickyStore struct {
	storage.Storage
	broken, panics atomic.Bool
}

func (s *panickyStore) Submit(ctx context.Context, n storage.NewSubmission) (storage.Submission, bool, error) {
	if !s.broken.Load() {
		return s.Storage.Submit(ctx, n)
	}
	if n.Dispatcher != nil {
		n.Dispatcher.Reserve(n.Submission.FormID)
		n.Dispatcher.Reserve(n.Submission.FormID) // as for another try
	}
	if s.panics.Load() {
		panic("broken")
	}
	if n.Dispatcher != nil {
		time.AfterFunc(time.Millisecond, func() { n.Dispatcher.Dispatch(nil, false) })
	}
	return storage.Submission{}, false, storage.ErrUnavailable
}

// A storage that panics between Reserve and HandOver does not stop the webhooks, nor does one
// that calls HandOver after its Submit has returned.
func TestWhatABrokenStorageReservedIsGivenBack(t *testing.T) {
	t.Parallel()
	store := &panickyStore{Storage: memory.New()}
	b := servicetest.SetupOn(t, store, servicetest.Loopback(), formsvc.WithoutRateLimit())
	url, requests := servicetest.Receiver(t)
	form := b.Form(servicetest.TextBlock, `{}`)
	hook := b.Webhook(form, url, servicetest.Secret)
	b.Dispatch()
	answer := func(text string) {
		t.Helper()
		expect.Must(b.Answer(form, "name", `"`+text+`"`))
		select {
		case got := <-requests:
			if !strings.Contains(got.Body, text) {
				t.Fatalf("sent %s, want %q", got.Body, text)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q is not sent", text)
		}
	}
	answer("the first")
	b.Deliveries(hook, 1) // it is known to be quick, so that room is made for it
	for _, panics := range []bool{true, false} {
		store.panics.Store(panics)
		store.broken.Store(true)
		for range 1000 {
			thrown := panicOf(func() {
				expect.Error(t, "Submit", expect.ErrorOf(b.Answer(form, "name", `"x"`)), storage.ErrUnavailable)
			})
			expect.Require(t, (thrown == "broken") == panics, "Submit panics with %v", thrown)
		}
		store.broken.Store(false)
		answer(fmt.Sprintf("after panics: %v", panics))
	}
}
