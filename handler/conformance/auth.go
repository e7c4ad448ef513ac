package conformance

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

func authCases() []testCase {
	return []testCase{
		{"auth/required", "Every operation except for the API description requires a key.", nil, authRequired},
		{"auth/same-answer", "Missing, malformed and unknown keys return identical bodies, except for the request ID.", nil, authSameAnswer},
		{"auth/expired", "An expired key is rejected like an unknown key.", needs(NeedsExpiredKey), authExpired},
		{"auth/revoked", "A key is rejected from its revocation on, and the user's other keys are not.", needs(NeedsRevokeKey), authRevoked},
		{"auth/bearer", "Authorization: Bearer with the key works like X-API-Key.", needs(NeedsKeyHeader), authBearer},
		{"auth/precedence", "X-API-Key takes precedence, and Authorization is used only with the scheme Bearer.", needs(NeedsKeyHeader), authPrecedence},
		{"auth/twice", "Two X-API-Key headers are rejected, even if both contain the same valid key.", needs(NeedsKeyHeader), authTwice},
		{"auth/query", "A key in the query is ignored.", needs(NeedsKeyHeader), authQuery},
	}
}

func authRequired(s *session) {
	w := s.newWorld()
	for _, o := range operations() {
		o.callAs(w.caller, w, anonymous()).refused("INVALID_API_KEY")
		o.callAs(w.caller, w, withKey("fs_live_nothing")).refused("INVALID_API_KEY")
	}
	w.get("/forms/" + w.formID).want(http.StatusOK)
	w.get("/webhooks/" + w.webhookID).want(http.StatusOK)
}

func authSameAnswer(s *session) {
	c := s.caller()
	want := s.nobody().get("/me", probe()).wantError("INVALID_API_KEY")
	for _, bad := range badKeys(c.key) {
		r := c.get("/me", probe(), withKey(bad)).refused("INVALID_API_KEY")
		r.same("the body", string(r.body), string(want.body))
		if s.target.Authorize == nil {
			r = c.get("/me", probe(), anonymous(), withHeader("Authorization", "Bearer "+bad)).refused("INVALID_API_KEY")
			r.same("the body", string(r.body), string(want.body))
		}
	}
}

func authExpired(s *session) {
	key, err := s.target.ExpiredKey(s.ctx, newID(), scopes())
	s.must("ExpiredKey", err)
	s.keepSecret(key)
	c := &caller{session: s, key: key}
	want := s.nobody().get("/me", probe()).wantError("INVALID_API_KEY")
	r := c.get("/me", probe()).wantError("INVALID_API_KEY")
	r.same("the body", string(r.body), string(want.body))
	c.get("/forms/" + newID()).wantError("INVALID_API_KEY")
}

func authRevoked(s *session) {
	w := s.newWorld()
	other := w.withScopes(scopes()...)
	w.get("/me").want(http.StatusOK)
	w.get("/forms/" + w.formID).want(http.StatusOK)
	s.must("RevokeKey", s.target.RevokeKey(s.ctx, w.user, w.key))
	want := s.nobody().get("/me", probe()).wantError("INVALID_API_KEY")
	r := w.get("/me", probe()).wantError("INVALID_API_KEY")
	r.same("the body", string(r.body), string(want.body))
	w.get("/forms/" + w.formID).wantError("INVALID_API_KEY")
	other.get("/me").want(http.StatusOK)
	other.get("/forms/" + w.formID).want(http.StatusOK)
}

func authBearer(s *session) {
	c := s.caller()
	want := c.get("/me").want(http.StatusOK)
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER "} {
		r := c.get("/me", anonymous(), withHeader("Authorization", scheme+c.key)).want(http.StatusOK)
		r.same("the body", string(r.body), string(want.body))
	}
}

// otherKey is a good key of another user, or a bad one when there is only one user.
func (s *session) otherKey() string {
	if s.target.CreateKey == nil {
		return "fs_live_nothing"
	}
	return s.caller().key
}

func authPrecedence(s *session) {
	c, other := s.caller(), s.otherKey()
	for _, authorization := range []string{"Bearer nonsense", "Bearer " + other, "Basic dXNlcjpwYXNz", "Basic " + other, "nonsense"} {
		r := c.get("/me", withHeader("Authorization", authorization)).want(http.StatusOK)
		r.same("id", r.object()["id"], c.user)
	}
	c.get("/me", withKeyHeader("nonsense"), withHeader("Authorization", "Bearer "+c.key)).refused("INVALID_API_KEY")
	for _, authorization := range []string{"Basic " + c.key, c.key, "Bearer", "Bearer ", "Token " + c.key} {
		c.get("/me", anonymous(), withHeader("Authorization", authorization)).refused("INVALID_API_KEY")
	}
}

func authTwice(s *session) {
	c, other := s.caller(), s.otherKey()
	c.get("/me", withKeyHeader(c.key, c.key)).refused("INVALID_API_KEY")
	c.get("/me", withKeyHeader(c.key, other)).refused("INVALID_API_KEY")
	c.get("/me", withKeyHeader(c.key, "")).refused("INVALID_API_KEY")
}

func authQuery(s *session) {
	c, other := s.caller(), s.otherKey()
	for _, name := range []string{"api_key", "apikey", "key", "X-API-Key", "x-api-key", "access_token", "token"} {
		c.get("/me?"+name+"="+url.QueryEscape(c.key), anonymous()).refused("INVALID_API_KEY")
		r := c.get("/me?" + name + "=" + url.QueryEscape(other)).want(http.StatusOK)
		r.same("id", r.object()["id"], c.user)
	}
}

// badKeys are variations of a key that are no keys.
func badKeys(key string) []string {
	last := key[len(key)-1]
	other := byte('a')
	if last == other {
		other = 'b'
	}
	middle := []byte(key)
	i := len(key) / 2
	if middle[i] = other; key[i] == other {
		middle[i] = 'c'
	}
	return []string{
		"x", " ", "null", "Bearer",
		key[:len(key)-1], key + "0", key[1:],
		key[:len(key)-1] + string(other), // the checksum no longer fits
		string(middle),
		strings.ToUpper(key), strings.ToLower(key),
		"x" + key, strings.Replace(key, "_live_", "_test_", 1),
		strings.Repeat("k", 4000),
		"fs_live_" + strings.Repeat("0", 49),
		"' OR '1'='1", "é",
	}
}

func scopeCases() []testCase {
	var out []testCase
	for _, o := range operations() {
		if o.scope == "" {
			continue
		}
		out = append(out, testCase{
			"scope/" + o.id,
			o.method + " " + o.path + " requires " + o.scope + ": without it, all other scopes return 403 with its name, and it alone is sufficient.",
			o.needsOf(),
			func(s *session) {
				w := s.newWorld()
				others := slices.DeleteFunc(scopes(), func(scope string) bool { return scope == o.scope })
				r := o.callAs(w.withScopes(others...), w).wantError("INSUFFICIENT_SCOPE")
				if !strings.Contains(r.errorBody().message, o.scope) {
					r.faultf("the message does not contain the missing scope %s", o.scope)
				}
				o.callAs(w.withScopes(o.scope), w).want(o.status)
			},
		})
	}
	return append(out, testCase{"scope/getMe", "GET /me works with any key, and tells the scopes of that key.", nil, scopeGetMe})
}

func scopeGetMe(s *session) {
	for _, scope := range scopes() {
		c := s.callerFor(newID(), []string{scope})
		r := c.get("/me").want(http.StatusOK)
		r.same("scopes", r.object()["scopes"], []string{scope})
	}
}
