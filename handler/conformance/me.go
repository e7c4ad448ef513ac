package conformance

import "net/http"

func meCases() []testCase {
	return []testCase{
		{"me/fields", "GET /me returns the key's user and effective scopes, with all fields.", nil, meFields},
		{"me/each-key", "Keys of one user return the same user, and each key its own scopes.", nil, meEachKey},
	}
}

func meFields(s *session) {
	c := s.caller()
	r := c.get("/me").want(http.StatusOK)
	o := r.object()
	r.checkMembers(o, []string{"id", "name", "email", "scopes"})
	r.same("id", o["id"], c.user)
	r.sameSet("scopes", o["scopes"], scopes())
	for _, name := range []string{"name", "email"} {
		if _, ok := o[name].(string); !ok {
			r.faultf("%s is %v, want a string", name, o[name])
		}
	}
}

func meEachKey(s *session) {
	c := s.caller()
	some := []string{"forms:read", "webhooks:write"}
	r := c.withScopes(some...).get("/me").want(http.StatusOK)
	r.same("id", r.object()["id"], c.user)
	r.sameSet("scopes", r.object()["scopes"], some)
}

// sameSet notes a fault unless a JSON array has exactly these strings, in any
// order.
func (r *response) sameSet(what string, got any, want []string) {
	list, _ := got.([]any)
	have := make(map[string]int)
	for _, item := range list {
		text, _ := item.(string)
		have[text]++
	}
	for _, w := range want {
		if have[w] != 1 {
			r.faultf("%s contains %q %d times, want it once", what, w, have[w])
		}
	}
	if len(list) != len(want) {
		r.faultf("%s has %d items, want %d", what, len(list), len(want))
	}
}
