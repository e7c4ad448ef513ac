package formpage_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const boundary = "----WebKitFormBoundaryAbCdEf0123456789"

// megabyte repeats what a function makes until there is 1 MiB of it.
func megabyte(part func(i int) string) string {
	var b strings.Builder
	for i := 0; ; i++ {
		one := part(i)
		if b.Len()+len(one) > 1<<20-2000 { // with the state
			return b.String()
		}
		b.WriteString(one)
	}
}

// costlyBodies are bodies of a page, of a megabyte, by encoding and by what they have most of.
func costlyBodies(state string) map[string]sent {
	list := map[string]sent{}
	same := func(text string) func(int) string { return func(int) string { return text } }
	long := func(text string) string { return megabyte(same(text)) }

	put := func(name, body string) {
		list["urlencoded, "+name] = sent{http.MethodPost, "", "application/x-www-form-urlencoded", "state=" + state + body}
	}
	put("many names", megabyte(func(i int) string { return fmt.Sprintf("&a.%d=x", i) }))
	put("short names", megabyte(func(i int) string { return fmt.Sprintf("&%x", i) }))
	put("one name often", long("&a.one=id:a"))
	put("one text often", long("&a.short=x"))
	put("a control often", long("&seen=x"))
	put("one long value", "&a.long="+long("x"))
	put("empty names", long("&=x"))
	put("empty pairs", long("&"))
	put("escapes", "&a.long="+long("%22"))
	put("deep", "&a.long="+long("[")+long("]")[:0])
	put("unknown members", megabyte(func(i int) string { return fmt.Sprintf("&unknown%d=x", i) }))
	put("bytes that are not UTF-8", "&a.long="+long("\xffa"))
	for _, mark := range []string{`"`, "<", "'", "\n", "é", "\u2028", "\u202a\u202c"} {
		put("shown back "+mark, "&go=next&a.email=x&a.long="+url.QueryEscape("x")+long(mark))
		put("shown back hidden "+mark, "&go=next&a.email=x&h.ref="+long(mark))
		put("shown back as lost "+mark, "&go=next&a.gone="+long(mark))
	}

	part := func(head, text string) string { return "--" + boundary + "\r\n" + head + "\r\n\r\n" + text + "\r\n" }
	named := func(name, text string) string { return part(`Content-Disposition: form-data; name="`+name+`"`, text) }
	put = func(name, body string) {
		list["multipart, "+name] = sent{http.MethodPost, "", "multipart/form-data; boundary=" + boundary, named("state", state) + body + "--" + boundary + "--\r\n"}
	}
	put("many names", megabyte(func(i int) string { return named(fmt.Sprint("a.", i), "x") }))
	put("one name often", long(named("a.one", "id:a")))
	put("one long value", named("a.long", long("x")))
	put("empty names", long(named("", "x")))
	put("part headers", long(part("X: y\r\nContent-Disposition: form-data; name=a", "")))
	put("one part with many headers", part(megabyte(func(i int) string { return fmt.Sprintf("X-%d: y\r\n", i) })+"X: y", "x"))
	put("one long header", part("X: "+long("y"), "x"))
	put("nameless file", part(`Content-Disposition: form-data; name=""; filename="x"`, long("x")))
	put("file without a file name", part(`Content-Disposition: form-data; name="u.file"`, long("x")))
	put("many nameless files", long(part(`Content-Disposition: form-data; filename="x"`, "")))
	put("deep", named("a.long", long("--")))
	put("unknown members", megabyte(func(i int) string { return named(fmt.Sprint("unknown", i), "x") }))
	for _, mark := range []string{`"`, "<", "é"} {
		put("shown back "+mark, named("go", "next")+named("a.email", "x")+named("a.long", long(mark)))
	}

	for _, path := range []string{"/path", "/submit"} {
		put = func(name, members string) {
			list["JSON"+path+", "+name] = sent{http.MethodPost, path, "application/json", `{"state":"` + state + `",` + members + "}"}
		}
		put("many names", `"answers":{`+strings.TrimSuffix(megabyte(func(i int) string { return fmt.Sprintf(`"%d":1,`, i) }), ",")+"}")
		put("one name often", `"answers":{`+strings.TrimSuffix(long(`"a":1,`), ",")+"}")
		put("many hidden fields", `"hidden":{`+strings.TrimSuffix(megabyte(func(i int) string { return fmt.Sprintf(`"%d":"",`, i) }), ",")+"}")
		put("one long value", `"answers":{"long":"`+long("x")+`"}`)
		put("one long list", `"answers":{"many":[`+strings.TrimSuffix(long("1,"), ",")+`]}`)
		put("empty names", `"answers":{`+strings.TrimSuffix(long(`"":1,`), ",")+"}")
		put("deep", `"answers":{"long":`+long("[")+"}")
		put("unknown members", strings.TrimSuffix(megabyte(func(i int) string { return fmt.Sprintf(`"%d":1,`, i) }), ","))
		put("a second state", `"state":"`+long("x")+`"`)
		put("shown back", `"answers":{"email":"`+long("<")+`"}`)
	}
	for _, path := range []string{"/view", "/start"} {
		list["beacon"+path+", long"] = sent{http.MethodPost, path, "application/x-www-form-urlencoded", "state=" + state + "&x=" + long("x")}
		list["beacon"+path+", parts"] = sent{http.MethodPost, path, "multipart/form-data; boundary=" + boundary, named("state", state) + long(named("x", ""))}
	}
	return list
}

// A body of a megabyte, whatever it is made of, allocates at most 16 MB, of which four times
// its size are kept.
func TestCostlyBodies(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if raceDetector {
		t.Skip("reason: the race detector allocates for itself; make test runs this without it")
	}
	c := newCosts(t)
	form := c.form(every)
	bodies := costlyBodies(c.state(form))
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		body := bodies[name]
		c.serve(form, sent{body.method, body.path, body.kind, ""})
		var w *sink
		bytes := allocated(func() { w = c.serve(form, body) })
		var kept any
		request := func() *http.Request {
			r := httptest.NewRequest(body.method, "/f/"+form.PublicID+body.path, strings.NewReader(body.body))
			r.Header.Set("Content-Type", body.kind)
			return r
		}
		held := retained(func() { kept = c.pages.Read(httptest.NewRecorder(), request(), form) })
		runtime.KeepAlive(kept)
		t.Logf("%s: %d, %d kB sent, %d kB allocated, %d kB kept", name, w.status, w.size>>10, bytes>>10, held>>10)
		if bytes > mostAllocated || held > 4<<20 || w.status >= http.StatusInternalServerError {
			t.Errorf("%s: status %d, %d bytes allocated, %d kept", name, w.status, bytes, held)
		}
	}
}

// retained is how many bytes are held after a call that were not before.
func retained(f func()) int64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.GC() // what is in a pool outlives one
	runtime.ReadMemStats(&before)
	f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	return int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

// What a body has beside files is bounded as a whole, and JSON is as strict as the API's.
func TestBodiesThatAreRefused(t *testing.T) {
	c := newCosts(t)
	form := c.form(every)
	state := c.state(form)
	for name, want := range map[string]struct {
		status int
		body   string
	}{
		"a second state":      {http.StatusBadRequest, `{"state":"` + state + `","state":"` + state + `"}`},
		"a name twice":        {http.StatusBadRequest, `{"state":"` + state + `","answers":{"short":"x","short":"y"}}`},
		"an unknown member":   {http.StatusUnprocessableEntity, `{"state":"` + state + `","answer":{}}`},
		"many answers":        {http.StatusUnprocessableEntity, `{"state":"` + state + `","answers":{` + manyMembers(2000) + `}}`},
		"a number as state":   {http.StatusBadRequest, `{"state":1}`},
		"a number as text":    {http.StatusBadRequest, `{"state":"` + state + `","hidden":{"ref":1}}`},
		"something after":     {http.StatusBadRequest, `{"state":"` + state + `"} x`},
		"too deep":            {http.StatusBadRequest, `{"state":"` + state + `","answers":{"short":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}}`},
		"nothing":             {http.StatusBadRequest, ``},
		"null for everything": {http.StatusOK, `{"state":"` + state + `","answers":null,"hidden":null,"utm":null,"took":null,"captcha":null}`},
		"answers":             {http.StatusOK, `{"state":"` + state + `","answers":{"short":"x"},"hidden":{"ref":"x","other":null}}`},
	} {
		if w := c.serve(form, sent{http.MethodPost, "/path", "application/json", want.body}); w.status != want.status {
			t.Errorf("%s: %d, want %d", name, w.status, want.status)
		}
	}
	endless := &endlessBody{head: "--" + boundary + "\r\nContent-Disposition: form-data; name=\"\"; filename=\"x\"\r\n\r\n"}
	headers := &endlessBody{head: "--" + boundary + "\r\n\r\n\r\n", again: true}
	unnamed := &endlessBody{head: "--" + boundary + "\r\nContent-Disposition: form-data; name=\"u.file\"; filename=\"\"\r\n\r\n"}
	large := &endlessBody{head: "--" + boundary + "\r\nContent-Disposition: form-data; name=a\r\nX: " + strings.Repeat("y", 100_000) + "\r\n\r\n\r\n", again: true}
	for name, body := range map[string]*endlessBody{
		"a nameless file": endless, "a file without a file name": unnamed, "parts without names": headers, "large part headers": large,
	} {
		r := httptest.NewRequest(http.MethodPost, "/f/"+form.PublicID, body)
		r.Header.Set("Content-Type", "multipart/form-data; boundary="+boundary)
		w := &sink{header: http.Header{}}
		c.pages.ServeHTTP(w, r)
		if w.status != http.StatusRequestEntityTooLarge || body.read > 16<<20 {
			t.Errorf("%s: status %d after %d bytes", name, w.status, body.read)
		}
	}
}

func manyMembers(n int) string {
	raw, _ := json.Marshal(slices.Collect(func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprint(i)) {
				return
			}
		}
	}))
	return strings.ReplaceAll(strings.Trim(string(raw), "[]"), ",", ":1,") + ":1"
}

// endlessBody begins with a head, and repeats it or has zeros then, up to 200 MB.
type endlessBody struct {
	head  string
	again bool
	read  int
}

func (e *endlessBody) Read(p []byte) (int, error) {
	if e.read > 200<<20 {
		return 0, fmt.Errorf("read %d bytes", e.read)
	}
	for i := range p {
		switch at := e.read + i; {
		case e.again:
			p[i] = e.head[at%len(e.head)]
		case at < len(e.head):
			p[i] = e.head[at]
		default:
			p[i] = 0
		}
	}
	e.read += len(p)
	return len(p), nil
}
