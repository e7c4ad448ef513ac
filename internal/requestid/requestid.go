// Package requestid manages the request ID in the X-Request-ID response header.
package requestid

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
)

// Header is the canonical name of the header.
const Header = "X-Request-Id"

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-"

// FromRequestOrNew returns the request's X-Request-ID, or a new one if it is missing or invalid.
func FromRequestOrNew(r *http.Request) string {
	if ids := r.Header[Header]; len(ids) == 1 && isValidID(ids[0]) {
		return ids[0]
	}
	// These 128 random bits need not be secret.
	b := append(make([]byte, 0, 32), "req_"...)
	b = strconv.AppendUint(b, rand.Uint64(), 36) // #nosec G404 -- an id, not a secret
	b = strconv.AppendUint(b, rand.Uint64(), 36) // #nosec G404 -- as above
	return string(b)
}

func isValidID(s string) bool {
	return s != "" && len(s) <= 100 && strings.Trim(s, alphabet) == ""
}
