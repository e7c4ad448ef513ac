package intake

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/hostdata"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// checkWithHost checks answers that are valid apart from the host's choices and checks. It adds the labels of choices.
func (k *CompiledForm) checkWithHost(ctx context.Context, in Input, respondent string, checked answers.Answers) (answers.Answers, error) {
	ctx, cancel := context.WithTimeout(ctx, hostdata.Timeout)
	defer cancel()
	var err error
	if in.Labels, err = k.labels(ctx, checked.Lists, respondent); err != nil {
		return checked, err
	}
	if len(in.Labels) > 0 {
		if checked, err = k.answers.Check(in); err != nil {
			return checked, err
		}
	}
	violations, err := k.runChecks(ctx, checked.Checks, checked.List, in.Hidden, respondent)
	if len(violations) > 0 {
		err = &schema.Error{Violations: violations}
	}
	return checked, err
}

// labels returns the labels of the selected choices that the host offers, by block ID and choice ID. The host is asked
// once for each list and value that the choices depend on. It is not asked about stored choices that do not change.
func (k *CompiledForm) labels(ctx context.Context, lists []answers.List, respondent string) (map[string]map[string]string, error) {
	type query struct{ list, by string }
	ids := map[query][]string{}
	labels := map[string]map[string]string{}
	lists = slices.DeleteFunc(slices.Clone(lists), func(l answers.List) bool { return k.before.hasChoices(l, labels) })
	for _, l := range lists {
		ids[query{l.Name, l.By}] = append(ids[query{l.Name, l.By}], l.IDs...)
	}
	offered := map[query]map[string]string{}
	for _, l := range lists {
		if len(l.IDs) == 0 {
			continue
		}
		q := query{l.Name, l.By}
		if offered[q] == nil {
			slices.Sort(ids[q])
			var err error
			if offered[q], err = k.host.GetLabels(ctx, l.Name, slices.Compact(ids[q]), k.query(l.By, respondent)); err != nil {
				return nil, err
			}
		}
		labels[l.Block] = offered[q]
	}
	return labels, nil
}

func (k *CompiledForm) query(by, respondent string) schema.ChoiceQuery {
	return schema.ChoiceQuery{Form: k.ID, Workspace: k.WorkspaceID, By: by, Respondent: k.knownRespondent(respondent)}
}

// knownRespondent returns the respondent that is stored, and that the host sees together with answers.
func (k *CompiledForm) knownRespondent(respondent string) string {
	if k.Settings.Anonymous {
		return ""
	}
	return respondent
}

// storedState is the state of a submission before a change.
type storedState struct {
	Input
	list  []schema.Answer
	all   Input // see allInput
	asked answers.Asked
}

// hasChoices reports whether the stored answer has the same choices from the same list. It then adds their labels.
func (s *storedState) hasChoices(l answers.List, labels map[string]map[string]string) bool {
	if s == nil || !slices.ContainsFunc(s.asked.Lists, func(was answers.List) bool {
		return was.Block == l.Block && was.By == l.By && slices.Equal(slices.Sorted(slices.Values(was.IDs)), slices.Sorted(slices.Values(l.IDs)))
	}) {
		return false
	}
	labels[l.Block] = map[string]string{}
	picks, _ := findAnswer(s.list, l.Block).Value.(schema.Picks)
	for _, p := range picks {
		labels[l.Block][p.ID] = p.Label
	}
	return true
}

// changes reports whether the answer to a block or to a nested block changes. If id is empty, it means all blocks.
func (s *storedState) changes(now Input, blocks []schema.Block, id string) bool {
	return slices.ContainsFunc(blocks, func(b schema.Block) bool {
		if id != "" && b.ID != id {
			return s.changes(now, b.Children, id)
		}
		return !reflect.DeepEqual(decodeJSON(s.all.Answers[b.ID]), decodeJSON(now.Answers[b.ID])) || s.changes(now, b.Children, "")
	})
}

func findAnswer(list []schema.Answer, block string) schema.Answer {
	if at := slices.IndexFunc(list, func(a schema.Answer) bool { return a.ID == block }); at >= 0 {
		return list[at]
	}
	return schema.Answer{}
}

// contains reports whether outer and inner are IDs of the same block, or of a group and a block in it.
func contains(blocks []schema.Block, outer, inner string) bool {
	return slices.ContainsFunc(blocks, func(b schema.Block) bool {
		if b.ID != outer {
			return contains(b.Children, outer, inner)
		}
		return inner == outer || contains(b.Children, inner, inner)
	})
}

// runChecks runs the host's checks. It reports the first check of each block that fails. The checks of a group run only
// if no block of the group has failed. If an answer does not change, a check fails only if it accepts the submission
// before the change.
func (k *CompiledForm) runChecks(ctx context.Context, checks []answers.HostCheck, list []byte, hidden map[string]string, respondent string) (violations []schema.Violation, err error) {
	if len(checks) == 0 {
		return nil, nil
	}
	decoded, err := schema.DecodeAnswers(list)
	if err != nil {
		return nil, err
	}
	for _, c := range checks {
		if slices.ContainsFunc(violations, func(v schema.Violation) bool { return contains(k.Blocks, c.Block, v.Field) }) {
			continue
		}
		in := schema.CheckInput{
			Form: k.ID, Workspace: k.WorkspaceID, Block: c.Block, Answer: findAnswer(decoded, c.Block), Answers: decoded, Hidden: hidden, Respondent: k.knownRespondent(respondent),
		}
		message, err := k.host.RunCheck(ctx, c.Name, in)
		if s := k.before; message != "" && s != nil && !s.changes(k.allInput(decoded, s.Now), k.Blocks, c.Block) {
			in.Answer, in.Answers, in.Hidden = findAnswer(s.list, c.Block), s.list, s.Hidden
			var refused string
			if refused, err = k.host.RunCheck(ctx, c.Name, in); refused != "" {
				message = ""
			}
		}
		if err != nil {
			return nil, err
		}
		if message != "" {
			violations = append(violations, schema.Violation{Path: c.Path, Field: c.Block, Code: schema.CodeCheckFailed, Message: message, Params: map[string]any{"say": withoutMarks.Replace(message)}})
		}
	}
	return violations, nil
}

// withoutMarks writes plain text as a text with marks.
var withoutMarks = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`)

// CheckBlocks checks incomplete answers to some blocks with the host. If a block has other violations, the host's checks
// do not run.
func (k *CompiledForm) CheckBlocks(ctx context.Context, in Input, respondent string, blocks []string) ([]schema.Violation, error) {
	if !k.answers.AsksHost() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hostdata.Timeout)
	defer cancel()
	in.Now = k.clock()
	_, asked, err := k.answers.PathAsking(in)
	if err != nil {
		return nil, err
	}
	others := func(id string) bool { return !slices.Contains(blocks, id) }
	in.Labels, err = k.labels(ctx, slices.DeleteFunc(asked.Lists, func(l answers.List) bool { return others(l.Block) }), respondent)
	if err != nil {
		return nil, err
	}
	found, asked, err := k.answers.PathAsking(in)
	if err != nil {
		return nil, err
	}
	violations := slices.DeleteFunc(found.Violations, func(v schema.Violation) bool { return others(v.Field) })
	if len(violations) > 0 {
		return violations, nil
	}
	return k.runChecks(ctx, slices.DeleteFunc(asked.Checks, func(c answers.HostCheck) bool { return others(c.Block) }), found.Answers, in.Hidden, respondent)
}

// Choices returns the choices that the host offers for a block. The selected choices have labels too.
func (k *CompiledForm) Choices(ctx context.Context, in Input, respondent, block, search string, limit int) (offered, selected []schema.Choice, err error) {
	ctx, cancel := context.WithTimeout(ctx, hostdata.Timeout)
	defer cancel()
	in.Now = k.clock()
	_, asked, err := k.answers.PathAsking(in)
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(asked.Lists, func(l answers.List) bool { return l.Block == block })
	if at < 0 {
		return nil, nil, storage.ErrNotFound
	}
	l := asked.Lists[at]
	labels, err := k.labels(ctx, []answers.List{l}, respondent)
	for _, id := range l.IDs {
		if label, ok := labels[block][id]; ok {
			selected = append(selected, schema.Choice{ID: id, Label: label})
		}
	}
	if err != nil || limit == 0 {
		return nil, selected, err
	}
	q := k.query(l.By, respondent)
	q.Search, q.Limit = search, limit
	offered, err = k.host.GetChoices(ctx, l.Name, q)
	return offered, selected, err
}
