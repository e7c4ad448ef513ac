package answers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/faults"
)

// contradictory is a rule that can be such that no answer passes its check.
type contradictory interface {
	// contradiction says why none does, "" when one does. member is the pointer of the
	// part of the block that it is about.
	contradiction() (member, why string)
}

// contradiction says why no answer to a block is ever accepted, as [contradictory] does.
func (b *compiledBlock) contradiction() (member, why string) {
	if t, ok := b.rule.(contradictory); ok {
		return t.contradiction()
	}
	return "", ""
}

// offered is how many choices an answer may have.
func (c *choices) offered() int {
	if c.other {
		return len(c.ids) + 1
	}
	return len(c.ids)
}

func (t numberRule) contradiction() (member, why string) {
	if t.least <= t.most {
		return "", "" // least is an answer, or most, or any number
	}
	return "/properties", fmt.Sprintf("the least number, %s, is above the greatest, %s", grouped(t.least), grouped(t.most))
}

func (t choiceRule) contradiction() (member, why string) {
	if t.other || len(t.ids) > 0 {
		return "", ""
	}
	return "/choices", "there is nothing to choose"
}

func (t multipleRule) contradiction() (member, why string) {
	all := t.offered()
	least := max(1, t.least) // an empty list is no answer
	switch {
	case all == 0:
		return "/choices", "there is nothing to choose"
	case t.most < 1:
		return "/properties", "the limit allows no choice"
	case t.most < least:
		return "/properties", fmt.Sprintf("at most %s may be chosen, and at least %s must be", spelled(t.most), spelled(least))
	case all < least:
		return "/properties", fmt.Sprintf("there are only %s to choose from, and at least %s must be chosen", spelled(all), spelled(least))
	}
	return "", ""
}

func (t rankingRule) contradiction() (member, why string) {
	if len(t.ids) > 0 {
		return "", ""
	}
	return "/choices", "there is nothing to rank"
}

func (t matrixRule) contradiction() (member, why string) {
	switch {
	case len(t.rows.ids) == 0:
		return "/matrix_rows", "there are no rows"
	case len(t.columns.ids) == 0:
		return "/matrix_columns", "there are no columns"
	}
	return "", ""
}

func (t contactRule) contradiction() (member, why string) {
	if slices.ContainsFunc(t.parts, func(p contactPart) bool { return !p.hide }) {
		return "", ""
	}
	return "/properties/addressOrContact", "all parts are hidden"
}

func (t signatureRule) contradiction() (member, why string) {
	if t.matchesAny() {
		return "", ""
	}
	return "/properties/allowedFiles", "a signature is a picture, and no picture is of the allowed types"
}

func (t filesRule) contradiction() (member, why string) {
	if t.file.matchesAny() {
		return "", ""
	}
	return "/properties/allowedFiles", "no file is of the allowed types"
}

// matchesAny reports whether there is a file of one of the allowed types.
func (t fileRule) matchesAny() bool {
	return len(t.allowed) == 0 || slices.ContainsFunc(t.allowed, t.matches)
}

// matches reports whether there is a file of an allowed type: a picture may have any
// extension.
func (t fileRule) matches(allowed string) bool {
	if strings.HasPrefix(allowed, ".") {
		return !strings.ContainsAny(allowed, `/\`) && !faults.LongerThan(allowed, maxHostText)
	}
	mediaType := allowed
	if family, ok := strings.CutSuffix(allowed, "/*"); ok {
		mediaType = family + "/x"
	}
	bare, ok := bareMediaType(mediaType)
	return ok && bare == mediaType && (!t.picture || strings.HasPrefix(bare, "image/"))
}

func (t dateRule) contradiction() (member, why string) {
	if _, ok := t.allowedDay(); ok {
		return "", ""
	}
	return "/properties", "no day is left between the bounds, specific dates and disabled weekdays"
}
