// Package answers checks the answers to a form and computes the path through it.
//
// [Compile] compiles a definition once, for use with many submissions. Each subpackage imports only packages above it
// in this list:
//
//   - answertype: the rules for one answer, with one file per type of answer
//   - compile: compiles a definition, its blocks and its rules
//   - identity: compares two answers by their meaning, for duplicate checks and conditions
//   - check: checks one answer against its block and normalizes it
//   - path: computes the path through the form, which determines the answers that count
//   - warnings: finds parts of a form that make it unanswerable or have no effect
//
// The rest of the module uses the subpackages through this package.
package answers

import (
	"encoding/json"
	"time"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/answers/check"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/answers/identity"
	"github.com/formsvc/formsvc/internal/answers/path"
	"github.com/formsvc/formsvc/internal/answers/warnings"
	"github.com/formsvc/formsvc/schema"
)

type (
	// Source holds the stored sections of the form to compile.
	Source = compile.Source
	// Input holds the answers from a respondent and from the host.
	Input = check.Input
	// Answers is a checked submission in the format in which it is stored, listed, exported and delivered.
	Answers = check.Answers
	// Asked is what the host is asked about answers.
	Asked = check.Asked
	// List is a block on the path whose choices come from the host.
	List = check.List
	// HostCheck is a check of the host for a block with a valid answer.
	HostCheck = check.Check
	// Retained holds the answers that are stored for a partial submission.
	Retained = path.Retained
)

// IdentityRules is the version of the rules that compute Answers.Unique.
const IdentityRules = identity.Rules

// Form is a compiled form. It is immutable, safe for concurrent use, and valid for one revision of the definition.
type Form struct{ form *compile.Form }

// Compile compiles a form. It returns an error if a section is not in the stored JSON format.
func Compile(from Source) (Form, error) {
	f, err := compile.New(from)
	return Form{f}, err
}

// Check checks and normalizes a submission. Package schema documents which answers are accepted and how they are
// stored. Only blocks on the respondent's path count; see [Form.Path]. Answers to other blocks are dropped
// unchecked, except the host's answers to blocks with properties.hide. Rules treat a block with an invalid answer as
// unanswered.
//
// Check returns all violations in one *[schema.Error]. Their paths begin with /answers, /host_answers or /hidden, and
// Field is the block ID or the name of the hidden field. At the empty path, TOO_LONG means that the answers exceed
// Limits.Submission in total, and TOO_MANY means that the rules take too many steps.
//
// Check accepts all choices from a list of the host unless Labels has an entry for the block, and it does not run the
// host's checks. Asked says what the caller must ask.
//
// Check does not convert strings from HTML forms, such as "on" or "1,5". The form page converts them.
//
// Check takes at most 5 ms and at most five times as long as json.Unmarshal (see BenchmarkCostlyResponses). Text that
// is not in NFC and non-ASCII addresses are slow to check, so a submission may contain at most 64 KiB of them
// (TOO_LONG). Only a form with more than 300 phone blocks can exceed 5 ms, because a phone number takes about 10 µs.
func (f Form) Check(in Input) (Answers, error) { return path.Check(f.form, in) }

// Path returns the path through the form for answers that may be incomplete. The answers may include answers that only
// the host can give, which Path treats as HostAnswers. It returns a *[schema.Error] if the rules take too many steps.
func (f Form) Path(answers map[string]json.RawMessage, hidden map[string]string, now time.Time) (schema.Path, error) {
	found, _, err := f.PathAsking(Input{Answers: answers, Hidden: hidden, Now: now})
	return found, err
}

// PathAsking is like [Form.Path], but also returns what the host is asked about the answers. Only the answers to blocks
// with an entry in Labels must be choices that the host offers.
func (f Form) PathAsking(in Input) (schema.Path, Asked, error) { return path.Compute(f.form, in) }

// Retain selects which answers of a partial submission to store. It keeps answers to blocks on the path that a
// respondent can answer, exactly as they were sent, even if they are invalid. Answers that only the host can give
// affect the path, as in [Form.Path], but are not retained. It returns a *[schema.Error] if the rules take too
// many steps or the value of a hidden field is invalid.
func (f Form) Retain(answers map[string]json.RawMessage, hidden map[string]string, now time.Time) (Retained, error) {
	return path.Retain(f.form, answers, hidden, now)
}

// PartialList returns the retained answers as a list, for [Form.Conditions]. It normalizes each answer as Check does,
// regardless of the path. It leaves invalid answers, and answers to blocks that no longer exist, as they were sent.
func (f Form) PartialList(in Input) json.RawMessage { return check.PartialList(f.form, in) }

// StoredInput converts stored answers to the input of a submission at a time, so that Check can check them again.
func (f Form) StoredInput(list []schema.Answer, at time.Time) Input {
	return path.StoredInput(f.form, list, at)
}

// Has reports whether the form has the block of a stored answer with the same type, or declares its hidden field.
func (f Form) Has(a *schema.Answer) bool { return path.Has(f.form, a) }

// IsFromHost reports whether only the host may give an answer, because of its type or its block.
func (f Form) IsFromHost(a *schema.Answer) bool { return path.IsFromHost(f.form, a) }

// Sample returns sample answers for a test event. They cover all blocks and hidden fields, regardless of the rules, and
// the variables that rules may set. The answers are valid and do not change between calls. Blocks without a valid
// sample are omitted, and Answers.Unique is nil.
func (f Form) Sample() Answers { return check.SampleAnswers(f.form) }

// Conditions returns conditions that select submissions by their answers. Each key in values is a block ID, the name
// of a hidden field, or "block/part" for a part of an address or contact.
func (f Form) Conditions(values map[string]string) *identity.Conditions {
	return identity.NewConditions(f.form, values)
}

// IsListID reports whether a list of the host can contain a choice with this ID.
func IsListID(id string) bool { return answertype.IsListID(id) }

// AsksHost reports whether the form has blocks with lists or checks of the host.
func (f Form) AsksHost() bool { return f.form.AsksHost }

// StoredUniqueDigest returns [Answers.Unique] for a stored list of answers and the block in
// settings.duplicateField. It returns nil if the list has no comparable answer to the block.
func StoredUniqueDigest(list json.RawMessage, block string) []byte {
	return identity.StoredDigest(list, block)
}

// FindWarnings finds parts of a form that make it unanswerable or have no effect. It returns an error if a section is
// invalid.
func FindWarnings(from Source) (schema.Warnings, error) { return warnings.Find(from) }
