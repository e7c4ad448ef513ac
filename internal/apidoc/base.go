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
		return errors.New("the base URL has a brace, query, fragment, space or other character that is not allowed")
	}
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return errors.New("the base URL is not a URL")
	case u.User != nil:
		return errors.New("the base URL must not have a user name or password")
	case u.Hostname() != "" && weburl.IsWeb(u) && weburl.IsPort(u.Port()):
	case u.Host == "" && u.Scheme == "" && strings.HasPrefix(base, "/"):
	default:
		return errors.New("the base URL must be an absolute http or https URL, or a path that starts with a slash")
	}
	if below := u.EscapedPath(); !strings.HasSuffix(base, below) || !IsPlainPath(below) {
		return errors.New("the path of the base URL has an empty or dot segment, or a character that needs escaping")
	}
	return nil
}

// CheckBasePath checks the path under which an API lives, such as "/v1": it begins
// with a slash and is otherwise as the path of a base URL ([CheckBaseURL]). ""
// and "/" mean none.
func CheckBasePath(base string) error {
	base = strings.TrimSuffix(base, "/")
	u, err := url.Parse(base)
	if err != nil || u.EscapedPath() != base || !IsPlainPath(base) {
		return fmt.Errorf("the base path %q is not a plain path that starts with a slash", base)
	}
	return nil
}

// IsPlainPath reports whether a path is empty, or begins with a slash and has no segment
// that is empty or a step; then it does not end with a slash.
func IsPlainPath(text string) bool {
	return text == "" || text[0] == '/' && text != "/" && path.Clean(text) == text
}
