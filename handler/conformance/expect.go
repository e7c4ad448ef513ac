package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
)

// decode reads one JSON value; nil when there is none or something follows it.
func decode(b []byte) any {
	d := json.NewDecoder(bytes.NewReader(b))
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	if _, err := d.Token(); err != io.EOF {
		return nil
	}
	return v
}

// want ends the case unless the answer has the status.
func (r *response) want(status int) *response {
	if r.status != status {
		r.fatalf("status is %d, want %d", r.status, status)
	}
	return r
}

// wantError ends the case unless the answer is the error with this code.
func (r *response) wantError(code string) *response {
	r.want(codeStatus(code))
	if got := r.errorBody().code; got != code {
		r.fatalf("code is %q, want %q", got, code)
	}
	return r
}

// refused notes a fault unless the answer is the error with this code. The case
// goes on.
func (r *response) refused(code string) *response {
	if got := r.errorBody().code; r.status != codeStatus(code) || got != code {
		r.faultf("status is %d with code %q, want %d with %q", r.status, got, codeStatus(code), code)
	}
	return r
}

// violations are the expected details: a path and, where the documents leave no
// choice, its code.
type violations map[string]string

// invalid notes a fault unless the answer is VALIDATION_FAILED with exactly these
// details.
func (r *response) invalid(want violations) *response {
	r.refused("VALIDATION_FAILED")
	e := r.errorBody()
	for path, code := range want {
		i := slices.IndexFunc(e.details, func(d detail) bool { return d.path == path && (code == "" || d.code == code) })
		if i < 0 {
			r.faultf("want a detail with the path %q and the code %q, got none", path, code)
		}
	}
	for _, d := range e.details {
		if _, ok := want[d.path]; !ok {
			r.faultf("a detail has the path %q, but the value at this path is valid", d.path)
		}
	}
	return r
}

// object returns the body, which must be a JSON object.
func (r *response) object() object {
	o, ok := decode(r.body).(object)
	if !ok {
		r.fatalf("the body is not a JSON object")
	}
	return o
}

// items returns the member items of the body, which must be objects.
func (r *response) items() []object {
	list, ok := r.object()["items"].([]any)
	if !ok {
		r.fatalf("the body has no array \"items\"")
	}
	out := make([]object, len(list))
	for i, item := range list {
		if out[i], ok = item.(object); !ok {
			r.fatalf("item %d is not an object", i)
		}
	}
	return out
}

// ids returns the ids of the items.
func (r *response) ids() []string {
	var out []string
	for _, item := range r.items() {
		out = append(out, text(item, "id"))
	}
	return out
}

// text is a string member; "" when it is none.
func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

// at follows a path of members; nil when it ends early.
func at(v any, names ...string) any {
	for _, name := range names {
		o, _ := v.(object)
		v = o[name]
	}
	return v
}

// checkMembers notes a fault unless the object has all required members, and none
// but those and the optional ones.
func (r *response) checkMembers(o object, required []string, optional ...string) {
	for _, name := range required {
		if _, ok := o[name]; !ok {
			r.faultf("the field %q is missing", name)
		}
	}
	for name := range o {
		if !slices.Contains(required, name) && !slices.Contains(optional, name) {
			r.faultf("the object has a field %q that is not specified", name)
		}
	}
}

// same notes a fault unless two JSON values are equal.
func (r *response) same(what string, got, want any) {
	if g, w := normal(got), normal(want); !reflect.DeepEqual(g, w) {
		r.faultf("%s is %s, want %s", what, raw(g), raw(w))
	}
}

// normal is a value as JSON knows it.
func normal(v any) any {
	var out any
	_ = json.Unmarshal(raw(v), &out) // its own output
	return out
}

var (
	idPattern       = regexp.MustCompile(`^[0-9a-f]{24}$`)
	publicIDPattern = regexp.MustCompile(`^[0-9A-Za-z]{12}$`)
	timePattern     = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
	etagPattern     = regexp.MustCompile(`^"[\x21\x23-\x7e]+"$`)
	cursorPattern   = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)
)

// checkID notes a fault unless the member is a printed id.
func (r *response) checkID(o object, name string) {
	if !idPattern.MatchString(text(o, name)) {
		r.faultf("%s is %v, want 24 lower-case hexadecimal digits", name, o[name])
	}
}

// checkTime notes a fault unless the member is a time in UTC and whole seconds
// near now.
func (r *response) checkTime(o object, name string) time.Time {
	value := text(o, name)
	t, err := time.Parse(time.RFC3339, value)
	if err != nil || !timePattern.MatchString(value) {
		r.faultf("%s is %v, want a time like 2026-11-20T08:33:01Z", name, o[name])
	}
	return t
}

// etag returns the revision token, which must be strong and quoted.
func (r *response) etag() string {
	tag := r.header.Get("Etag")
	if !etagPattern.MatchString(tag) {
		r.fatalf("ETag is %q, want a strong tag in quotes", tag)
	}
	return tag
}

// checkLocation notes a fault unless Location names the resource at a path below
// the base path. It returns nothing: a service may name itself by another host
// than the one that the suite reaches it at.
func (r *response) checkLocation(path string) {
	r.checkLink("Location", r.header.Get("Location"), path)
}

// checkLink holds a link against the path below the base path that it must lead
// to.
func (r *response) checkLink(what, link, path string) {
	u, err := r.base.Parse(link)
	if link == "" || err != nil {
		r.faultf("%s is %q, want a URL", what, link)
		return
	}
	got, want := segments(u.EscapedPath()), segments(path)
	if u.Host == r.base.Host {
		want = segments(r.base.EscapedPath() + path)
	} else if len(got) > len(want)-1 {
		// Named by another host, perhaps with another prefix: the end must agree.
		got = append([]string{""}, got[len(got)-len(want)+1:]...)
	}
	if !slices.Equal(got, want) {
		r.faultf("%s is %q, want a URL for the path %q", what, link, path)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		r.faultf("%s is %q, want a URL without query and fragment", what, link)
	}
}

// segments are the parts of an escaped path, unescaped: a link may escape more
// than it must.
func segments(path string) []string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if plain, err := url.PathUnescape(part); err == nil {
			parts[i] = plain
		}
	}
	return parts
}
