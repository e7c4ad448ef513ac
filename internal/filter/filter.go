// Package filter selects stored submissions by a condition and a text.
package filter

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const (
	maxTextLength = 200 // in characters
	maxSize       = 500 // operations and values of a condition
	// maxSteps limits the condition for one submission. A condition of maxSize that reads long texts takes fewer.
	maxSteps = 100_000
)

// Filter selects submissions. It is immutable and safe for concurrent use.
type Filter struct {
	condition *logic.Logic         // nil selects all submissions
	text      string               // folded; empty selects all submissions
	labels    map[[2]string]string // by block and choice ID
	variables map[string]any
	now       time.Time
	key       string
}

// New returns a filter, or nil if it would select all submissions. where is JsonLogic that reads the answers as rules
// do, and text is a part of any answer. now is the day of the operator today. The error is a *[schema.Error] with paths
// /where and /text.
func New(d storage.Definition, where json.RawMessage, text string, now time.Time) (*Filter, error) {
	if where == nil && text == "" {
		return nil, nil //nolint:nilnil // a nil filter is valid
	}
	blocks, blocksErr := schema.DecodeBlocks(d.Blocks)
	hidden, hiddenErr := schema.DecodeHiddenFields(d.HiddenFields)
	variables, err := schema.DecodeVariables(d.Variables)
	if err := errors.Join(blocksErr, hiddenErr, err); err != nil {
		return nil, err
	}
	var found violation.List
	made := &Filter{text: Fold(text), labels: make(map[[2]string]string), variables: variables, now: now}
	known := newNames(blocks, hidden, variables, made.labels)
	parts := []string{text, now.Format(time.DateOnly), string(d.Variables), string(where)}
	if text != "" {
		parts = append(parts, string(d.Blocks))
	}
	key := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	made.key = string(key[:]) // short, because caches do not count the size of keys
	if violation.LongerThan(text, maxTextLength) {
		found.Add("/text", schema.CodeTooLong, violation.TooLongMessage(maxTextLength))
	}
	if where != nil {
		made.condition = compile(where, known, &found)
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	return made, nil
}

// Key identifies the filter in caches. It is empty for a nil filter.
func (f *Filter) Key() string {
	if f == nil {
		return ""
	}
	return f.key
}

// Matches reports whether the filter selects a submission with these answers and the ending that it reached. A nil
// filter selects all submissions.
func (f *Filter) Matches(answers []schema.Answer, ending string) (bool, error) {
	if f == nil {
		return true, nil
	}
	if f.text != "" && !f.containsText(answers) {
		return false, nil
	}
	if f.condition == nil {
		return true, nil
	}
	budget := logic.NewBudget(maxSteps)
	budget.Now = f.now
	holds := f.condition.Holds(data{f, answers, ending, &budget}, &budget)
	if budget.Exceeded() {
		return false, violation.New("/where", schema.CodeTooMany, "takes too many steps with the answers of a submission")
	}
	return holds, nil
}

func (f *Filter) containsText(answers []schema.Answer) bool {
	for i := range answers {
		if answers[i].Type != schema.TypeVariable && strings.Contains(Fold(f.searchedText(&answers[i])), f.text) {
			return true
		}
	}
	return false
}

// searchedText returns the text of an answer, with both labels of choices that were renamed, all parts of a payment, and
// without the IDs of a matrix's rows.
func (f *Filter) searchedText(a *schema.Answer) string {
	var picks schema.Picks
	switch v := a.Value.(type) {
	case schema.Matrix:
		for _, row := range v {
			picks = append(picks, row.Picks...)
		}
	case schema.Payment:
		return v.String() + " " + v.Gateway + " " + v.Reference
	case schema.Picks:
		picks = v
	default:
		return v.String()
	}
	texts := []string{picks.String()}
	for _, p := range picks {
		if label := f.labels[[2]string{a.ID, p.ID}]; label != p.Label {
			texts = append(texts, label) // empty for a removed choice
		}
	}
	return strings.Join(texts, ", ")
}

// compile compiles a condition. All blocks, hidden fields and variables that it reads must exist, so that a mistake is
// not mistaken for an empty result.
func compile(where json.RawMessage, known names, found *violation.List) *logic.Logic {
	tree, err := jsontree.Parse(where, jsontree.BodyLimits)
	if err != nil {
		found.Add("/where", schema.CodeBadFormat, "must be valid JSON: "+err.Error())
		return nil
	}
	defer tree.Release()
	if root := tree.Root(); root.Kind() != jsontree.Bool && (root.Kind() != jsontree.Object || root.Len() != 1) {
		found.Add("/where", schema.CodeBadFormat, `must be an object with one operator such as {"<":[{"var":"answers.nps"},7]}, true or false`)
		return nil
	}
	condition, err := logic.Compile(tree.Root())
	if unreadable, ok := err.(*logic.UnreadableError); ok { //nolint:errorlint // Compile returns no wrapped errors
		part := unreadable.Parts[0]
		message := part.Rule
		if part.Operator != "" {
			message = "has an unknown operator: " + part.Operator
		}
		found.Add(part.At.Pointer("/where"), schema.CodeNotAllowed, message)
		return nil
	}
	if condition.Size() > maxSize {
		found.Add("/where", schema.CodeTooMany, "must have at most "+violation.FormatCount(maxSize, "operation or value"))
	}
	paths, _ := condition.ReadPaths()
	if unknown := slices.DeleteFunc(slices.Clone(paths), known.has); len(unknown) > 0 {
		found.Add("/where", schema.CodeUnknownField, "must read only what the form has, without "+strings.Join(unknown, ", "))
	}
	return condition
}

// names are the paths that a condition can read.
type names map[string]bool

// newNames also adds the labels of choices, except those of a host's list.
func newNames(blocks []schema.Block, hidden []string, variables map[string]any, labels map[[2]string]string) names {
	all := names{"answers": true, "hidden": true, "variables": true, "submission.ending": true}
	var add func(blocks []schema.Block)
	add = func(blocks []schema.Block) {
		for i := range blocks {
			if blocks[i].TakesAnswer() {
				all["answers."+blocks[i].ID] = true
			}
			if blocks[i].ListRef().List == "" {
				for _, c := range slices.Concat(blocks[i].Choices, blocks[i].MatrixColumns) {
					labels[[2]string{blocks[i].ID, c.ID}] = c.Label
				}
			}
			add(blocks[i].Children)
		}
	}
	add(blocks)
	for _, name := range hidden {
		all["hidden."+name] = true
	}
	for name := range variables {
		all["variables."+name] = true
	}
	return all
}

// has reports whether a path is a known name, or a part of an answer such as answers.who.city.
func (n names) has(path string) bool {
	for at, first := len(path), strings.IndexByte(path, '.'); at > first; at = strings.LastIndexByte(path[:at], '.') {
		if n[path[:at]] {
			return true
		}
	}
	return n[path]
}
