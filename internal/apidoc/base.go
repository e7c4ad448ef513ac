package apidoc

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/formsvc/formsvc/internal/weburl"
)

// CheckBaseURL checks what links, Location headers and the server of the
// description ([Describe]) begin with: an absolute http or https URL such as
// "https://api.example.com", or a plain path such as "/api". It may end with one
// slash, which means nothing; "" and "/" mean that there is none. An error says that it
// has another form, a user name, password, query or fragment, a character that a
// URL has to escape, a path with an empty, "." or ".." segment, or braces, which
// OpenAPI reads as variables. It does not repeat the URL, which may hold a password.
func CheckBaseURL(base string) error {
	base = strings.TrimSuffix(base, "/")
	if base == "" {
		return nil
	}
	if strings.ContainsFunc(base, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune("{}?#", c) }) {
		return errors.New("the base URL has a brace, query, fragment, space or other character that does not belong there")
	}
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("the base URL is not a URL")
	case u.User != nil:
		return errors.New("the base URL has a user name or password")
	case u.Hostname() != "" && weburl.IsWeb(u) && weburl.IsPort(u.Port()):
	case u.Host == "" && u.Scheme == "" && strings.HasPrefix(base, "/"):
	default:
		return errors.New("the base URL is neither an absolute http or https URL nor a path that begins with a slash")
	}
	if p := u.EscapedPath(); !strings.HasSuffix(base, p) || !isPlainPath(p) {
		return errors.New("the path of the base URL has a character to be escaped, or an empty or dotted segment")
	}
	return nil
}

// CheckBasePath checks the path under which an API lives, such as "/v1": it begins
// with a slash and is otherwise as the path of a base URL ([CheckBaseURL]). ""
// and "/" mean none.
func CheckBasePath(base string) error {
	base = strings.TrimSuffix(base, "/")
	u, err := url.Parse(base)
	if err != nil || u.EscapedPath() != base || !isPlainPath(base) {
		return fmt.Errorf("the base path %q is not a plain path that begins with a slash", base)
	}
	return nil
}

// isPlainPath reports whether a path without a slash at its end is empty, or
// begins with one and has no segment that is empty or a step.
func isPlainPath(p string) bool {
	return p == "" || p != "/" && strings.HasPrefix(p, "/") && path.Clean(p) == p
}
