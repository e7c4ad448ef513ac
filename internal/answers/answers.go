// Package answers checks the answers to a form and computes the path through it.
//
// [Compile] compiles a definition once, for use with many submissions. Data flows in one direction. Each
// subpackage imports only packages above it in this list:
//
//   - answertype: the rules for one answer, with one file per type of answer
//   - compile: compiles a definition, its blocks and its rules
//   - identity: compares two answers by their meaning, for duplicates and conditions
//   - check: checks one answer against its block and normalizes it
//   - path: computes the path through the form, which determines the answers that count
//   - warnings: finds parts of a form that make it unanswerable or have no effect
//
// This package is the API of these subpackages.
package answers

import (
	"encoding/json"

	"github.com/formsvc/formsvc/internal/answers/check"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/answers/identity"
	"github.com/formsvc/formsvc/internal/answers/path"
	"github.com/formsvc/formsvc/internal/answers/warnings"
	"github.com/formsvc/formsvc/schema"
)

// What goes in and comes out.
type (
	// Source has the stored sections that a form is compiled from.
	Source = compile.Source
	// Input has the answers of a respondent and of the host.
	Input = check.Input
	// Answers is a checked response in the one shape that is stored, listed, exported
	// and delivered.
	Answers = check.Answers
	// Retained is what is kept of a response that is not finished.
	Retained = path.Retained
)

// IdentityRules is the version of the rules by which Answers.Unique is made.
const IdentityRules = identity.Rules

// Form is a form made ready for checking answers. It is immutable: safe for concurrent use
// and fit to be kept for as long as the definition's revision lasts.
type Form struct{ form *compile.Form }

// Compile makes a form ready. An error means that a section is not in its stored form.
func Compile(from Source) (Form, error) {
	f, err := compile.New(from)
	return Form{f}, err
}

// Check holds a response against the form and normalises it. Every fault is
// reported at once in a *[schema.Error] whose paths begin with /answers, /host_answers or
// /hidden and whose Field is the block's id or the hidden field's name. Answers that
// would take more than Limits.Response together are TOO_LONG at the empty path.
//
// Package schema says which answers are accepted, and how they are stored.
//
// Only the blocks on the respondent's path count, see [Form.Path]. Answers to other
// blocks are dropped unchecked, but for the host's to blocks that the form hides. To
// rules, a faulty answer is unanswered. A response whose rules take too many steps is
// TOO_MANY at the empty path.
//
// Words that a form post sends for answers ("on", "1,5") are for whoever reads the post.
//
// Checking costs at most five times what json.Unmarshal of the same answers does, and
// 5 ms (BenchmarkCostlyResponses): of text that is not in NFC and of addresses beyond
// ASCII, one response has at most 64 KiB (TOO_LONG). A phone number takes some 10 µs, so
// only a form with more than 300 questions for one is beyond that.
func (f Form) Check(in Input) (Answers, error) { return path.Check(f.form, in) }

// Path returns the way through the form for answers that may be incomplete. Answers that
// only the host can give, also to blocks that the form hides, stand among them and count
// as the host's: it is the way of [Form.Check] with them in HostAnswers. An error
// is a *[schema.Error]: the rules would take too long.
func (f Form) Path(answers map[string]json.RawMessage, hidden map[string]string) (schema.Path, error) {
	return path.Compute(f.form, answers, hidden)
}

// Retain returns what is kept of a response that is not finished. Answers stay as they were sent,
// faulty ones too, as far as they belong to blocks on the path that a respondent answers.
// Answers that only the host can give lead the way, as for [Form.Path], and are not kept. An
// error is a *[schema.Error]: the rules would take too long, or a hidden field would be refused.
func (f Form) Retain(answers map[string]json.RawMessage, hidden map[string]string) (Retained, error) {
	return path.Retain(f.form, answers, hidden)
}

// PartialList returns the answers that were kept as a list, for [Form.Conditions]: as Check reads
// each, whatever the path, and as it was sent where there is a fault or no such block any more.
func (f Form) PartialList(in Input) json.RawMessage { return check.PartialList(f.form, in) }

// Sample returns made-up answers to all blocks and hidden fields, for a test event, whatever
// the rules say, and the variables that rules may set. The answers keep the form's rules and are
// the same at every call; a block for which no valid sample exists is left out. Unique is nil.
func (f Form) Sample() Answers { return check.Sample(f.form) }

// Conditions takes the wanted values by block id, by the name of a hidden field, or by
// "block/part" for a part of an address or contact.
func (f Form) Conditions(values map[string]string) *identity.Conditions {
	return identity.New(f.form, values)
}

// StoredUnique returns the [ParseAnswers.Unique] of a stored list of answers, for the block
// that is to be unique. nil: the block has no answer that is compared.
func StoredUnique(list json.RawMessage, block string) []byte { return identity.Stored(list, block) }

// Warnings returns the parts of a form that make it unanswerable or have no effect. It is
// an error when a section is not in its stored form.
func Warnings(from Source) (schema.Warnings, error) { return warnings.Find(from) }
