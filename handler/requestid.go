package handler

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
)

const requestIDAlphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-"

// requestID returns the caller's X-Request-ID when it follows the rule, else a new
// one. A value that breaks the rule is replaced, never refused.
func requestID(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && validRequestID(given[0]) {
		return given[0]
	}
	// 128 random bits. They need not be secret.
	b := append(make([]byte, 0, 32), "req_"...)
	b = strconv.AppendUint(b, rand.Uint64(), 36) // #nosec G404 -- an id, not a secret
	b = strconv.AppendUint(b, rand.Uint64(), 36) // #nosec G404 -- as above
	return string(b)
}

func validRequestID(s string) bool {
	return s != "" && len(s) <= 100 && strings.Trim(s, requestIDAlphabet) == ""
}
