package warnings

import (
	"sort"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/insertion"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// checkTexts adds warnings about the marks in a block's texts. at is the index of the top-level block that contains the
// block.
func (w *warner) checkTexts(b *schema.Block, path string, at int) {
	w.checkText(b.Label, schema.Formatting|schema.Insertions, path+"/label", at)
	w.checkText(b.Description, schema.Formatting|schema.Insertions, path+"/description", at)
	w.checkText(b.Properties.LegalText, schema.Formatting, path+"/properties/legalText", at)
	w.checkText(b.Properties.ButtonText, schema.Insertions, path+"/properties/buttonText", at)
	jsontree.Inspect(b.Properties.Rule, answertype.ParseLimits, func(rule jsontree.Node) bool {
		for _, check := range rule.Member("check").All() {
			say := check.Member("say")
			w.checkText(say.Text(), schema.Formatting|schema.Insertions, say.Pointer(path+"/properties/rule"), at)
		}
		return true
	})
}

// Values of the parameter at for texts outside of blocks.
const (
	onLastPage = -1
	whenClosed = -2
)

// checkText adds warnings about the marks in a text. at is the index of the top-level block that contains the text,
// onLastPage or whenClosed.
func (w *warner) checkText(source string, marks schema.TextMarks, path string, at int) {
	text := schema.ParseText(source, marks)
	for _, mark := range text.Malformed() {
		w.addWarning(path, schema.WarnMalformedText, answertype.Explanation{
			Message: "this mark is shown as it is, because it is incomplete or not allowed: " + answertype.QuoteJSON(mark), Params: map[string]any{"mark": mark},
		})
	}
	warned := make(map[string]bool)
	for _, name := range text.InsertionNames() {
		if !warned[name] {
			warned[name] = true
			w.checkInsertion(name, path, at)
		}
	}
}

func (w *warner) checkInsertion(name, path string, at int) {
	r, ok := insertion.Resolve(name, w.has)
	quoted := answertype.QuoteJSON("{{" + name + "}}")
	warn := func(code, why string, params map[string]any) {
		params["name"] = name
		w.addWarning(path, code, answertype.Explanation{Reason: "insertion", Message: quoted + " inserts nothing: " + why, Params: params})
	}
	switch {
	case !ok:
		warn(schema.WarnUnknownName, "the form has no such answer, variable or hidden field", map[string]any{})
	case at == whenClosed && (r.Source == insertion.Answers || r.Source == insertion.Hidden):
		warn(schema.WarnNoEffect, "a closed form has no answers", map[string]any{})
	case r.Source == insertion.Answers:
		block := w.form.Index[r.ID]
		label, params := w.blockName(block)
		switch {
		case w.form.Blocks[block].Hide || !insertion.HasValue(w.blocks[block].AnswerShape(), r.Part):
			warn(schema.WarnNoEffect, "the answer to "+label+" cannot be inserted", params)
		case at >= 0 && block >= w.firstUnknownBlock(w.form.Steps[at].From, true) && w.isOnLaterPage(block, at):
			warn(schema.WarnNotYetKnown, label+" is answered later", params)
		}
	}
}

// has reports whether the form has the block, variable or hidden field; see [insertion.Resolve].
func (w *warner) has(source, id string) (ok bool) {
	switch source {
	case insertion.Answers:
		_, ok = w.form.Index[id]
	case insertion.Variables:
		_, ok = w.form.VariableIndex[id]
	case insertion.Hidden:
		ok = w.form.HiddenNames[id]
	}
	return ok
}

// isOnLaterPage reports whether a block is on a later page than a step. A form page updates its texts when an answer on
// the same page changes. For an ending, isOnLaterPage returns true.
func (w *warner) isOnLaterPage(block, at int) bool {
	if w.form.Steps[at].Ending {
		return true
	}
	step := sort.Search(len(w.form.Steps), func(i int) bool { return w.form.Steps[i].From > block }) - 1
	for i := at; i < step && !w.singlePage; i++ {
		b := w.blocks[w.form.Steps[i].From]
		k, _ := schema.LookupBlockType(b.Type)
		if w.onePerPage {
			if k.TakesAnswer() || b.Type == schema.TypeGroup || b.Type == schema.TypeWelcome || b.Type == schema.TypeStatement {
				return true
			}
		} else if b.Type == schema.TypePageBreak {
			return true
		}
	}
	return false
}

func (w *warner) checkSettings(s *schema.Settings) {
	w.checkText(s.SubmitLabel, schema.Insertions, "/settings/submitLabel", onLastPage)
	w.checkText(s.ClosedMessage, schema.Formatting|schema.Insertions, "/settings/closedMessage", whenClosed)
}
