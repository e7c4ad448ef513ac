package handler

import (
	"math/rand/v2"
	"net/http"
	"strings"
)

const requestIDAlphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-"

// requestID returns the caller's X-Request-ID when it follows the rule, else a new
// one. A value that breaks the rule is replaced, never refused.
func requestID(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && validRequestID(given[0]) {
		return given[0]
	}
	// 126 random bits. They need not be secret.
	b := [25]byte{'r', 'e', 'q', '_'}
	var bits uint64
	for i := 4; i < len(b); i++ {
		if (i-4)%10 == 0 {
			bits = rand.Uint64() // #nosec G404 -- an id, not a secret
		}
		b[i] = requestIDAlphabet[bits&63]
		bits >>= 6
	}
	return string(b[:])
}

func validRequestID(s string) bool {
	return s != "" && len(s) <= 100 && strings.Trim(s, requestIDAlphabet+".") == ""
}
