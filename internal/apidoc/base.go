package apidoc

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/formsvc/formsvc/internal/weburl"
)

// CheckBaseURL checks the base URL for links, Location headers and the server in [Describe]. A base URL is an absolute
// http or https URL such as "https://api.example.com", or a path such as "/api". A trailing slash is ignored, so ""
// and "/" both mean no base URL. CheckBaseURL rejects usernames, passwords, queries, fragments, characters that need
// escaping, and empty, "." and ".." segments. It rejects braces because OpenAPI would treat them as variables. Errors
// omit the URL, because it may contain a password.
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
		return errors.New("the base URL cannot be parsed")
	case u.User != nil:
		return errors.New("the base URL must not contain a username or password")
	case u.Hostname() != "" && weburl.HasWebScheme(u) && weburl.IsPortOrEmpty(u.Port()):
	case u.Host == "" && u.Scheme == "" && strings.HasPrefix(base, "/"):
	default:
		return errors.New("the base URL must be an absolute http or https URL, or a path that starts with a slash")
	}
	if below := u.EscapedPath(); !strings.HasSuffix(base, below) || !IsPlainPath(below) {
		return errors.New("the path of the base URL has an empty or dot segment, or a character that needs escaping")
	}
	return nil
}

// CheckBasePath checks the path of an API, such as "/v1". It must start with a slash; otherwise, the rules of
// [CheckBaseURL] apply. "" and "/" both mean no base path.
func CheckBasePath(base string) error {
	base = strings.TrimSuffix(base, "/")
	u, err := url.Parse(base)
	if err != nil || u.EscapedPath() != base || !IsPlainPath(base) {
		return fmt.Errorf("the base path %q is not a plain path that starts with a slash", base)
	}
	return nil
}

// IsPlainPath reports whether a path is empty, or starts with a slash and has no empty, "." or ".." segments.
func IsPlainPath(text string) bool {
	return text == "" || text[0] == '/' && text != "/" && path.Clean(text) == text
}
