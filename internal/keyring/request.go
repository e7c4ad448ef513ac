package keyring

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

const (
	maxKeys      = 20
	maxKeyName   = 120 // maximum number of characters
	maxUserName  = 200
	maxUserEmail = 254
)

func validate(r schema.KeyRequest, now time.Time) error {
	errs := []error{
		checkText("/user/name", r.User.Name, 0, maxUserName),
		checkText("/user/email", r.User.Email, 0, maxUserEmail),
		checkText("/name", textclean.CleanName(r.Name), 1, maxKeyName),
	}
	switch name := textclean.CleanName(r.Name); {
	case name == "" || strings.ContainsRune(name, 0): // checkText reports this violation
	case textclean.IsBlank(name):
		errs = append(errs, violation.New("/name", schema.CodeTooShort, "must have a visible character"))
	case textclean.IsMisleading(name):
		errs = append(errs, violation.New("/name", schema.CodeBadFormat, violation.MessageMisleading))
	}
	if r.User.ID.IsZero() {
		errs = append(errs, violation.New("/user/id", schema.CodeRequired, "is required"))
	}
	if len(r.Scopes) == 0 {
		errs = append(errs, violation.New("/scopes", schema.CodeTooFew, "must have at least 1 scope"))
	}
	for i, scope := range r.Scopes {
		if !scope.Valid() {
			errs = append(errs, violation.New("/scopes/"+strconv.Itoa(i), schema.CodeNotAllowed, "is not a valid scope"))
		}
	}
	if r.ExpiresAt != nil && !expiresAt(r).After(now) {
		errs = append(errs, violation.New("/expires_at", schema.CodeOutOfRange, "must be in the future"))
	}
	return violation.Join(errs...)
}

// expiresAt returns the key's expiry time in whole seconds. A zero time means that the key never expires.
func expiresAt(r schema.KeyRequest) time.Time {
	if r.ExpiresAt == nil {
		return time.Time{}
	}
	return r.ExpiresAt.UTC().Truncate(time.Second)
}

// checkText checks that text is valid UTF-8 without U+0000, and has an allowed number of characters.
func checkText(path, text string, minimum, maximum int) error {
	switch n := utf8.RuneCountInString(text); {
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return violation.New(path, schema.CodeBadFormat, "must be valid UTF-8 without U+0000")
	case n < minimum:
		return violation.New(path, schema.CodeTooShort, "must not be empty")
	case n > maximum:
		return violation.New(path, schema.CodeTooLong, "must have at most "+strconv.Itoa(maximum)+" characters")
	}
	return nil
}
