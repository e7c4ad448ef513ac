package answertype

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/schema"
)

type choices struct {
	ids    []string
	values [][]byte // {"id":…,"label":…}
	index  map[string]int
	other  bool // allows an answer in the respondent's own words
}

// newChoices ignores choices with duplicate IDs.
func newChoices(list []schema.Choice, other bool) *choices {
	c := &choices{index: make(map[string]int, len(list)), other: other}
	for i := range list {
		id := list[i].ID
		if _, there := c.index[id]; there {
			continue
		}
		c.index[id] = len(c.ids)
		c.ids = append(c.ids, id)
		var w jsontree.Writer
		w.Object()
		w.Name("id").String(id)
		w.Name("label").String(list[i].Label)
		w.EndObject()
		c.values = append(c.values, bytes.Clone(w.Bytes()))
	}
	return c
}

// selection is a selected choice. index is len(ids) if the respondent entered an “Other” text.
type selection struct {
	index int
	other string
}

func (c *choices) writeSelection(w *jsontree.Writer, p selection) {
	if p.index < len(c.ids) {
		w.Raw(c.values[p.index])
		return
	}
	w.Object()
	w.Name("other").String(p.other)
	w.EndObject()
}

// noSelection is the index of a selection whose “Other” text is blank. A form page sends {"other":""} for an empty
// field.
const noSelection = -1

// readSelection accepts a choice ID, {"id":…} or {"other":…}.
func (c *choices) readSelection(n jsontree.Node, r *Report) (p selection, wrong Violation) {
	switch n.Kind() {
	case jsontree.String:
		return c.selectByID(n.Text())
	case jsontree.Object:
	default:
		return p, violationWrongChoiceType()
	}
	id, other := n.Member("id"), n.Member("other") // null counts as absent
	hasID, hasOther := id.Kind() != jsontree.Null, other.Kind() != jsontree.Null
	switch {
	case hasID && hasOther:
		return p, ViolationBadFormat("choice", "must be one of the choices or your own text, not both")
	case id.Kind() == jsontree.String:
		return c.selectByID(id.Text())
	case !hasID && other.Kind() == jsontree.String:
		return c.selectOther(other.Text(), r)
	}
	return p, violationWrongChoiceType()
}

func (c *choices) selectByID(id string) (p selection, wrong Violation) {
	at, ok := c.index[id]
	if !ok {
		return p, violationNotAChoice
	}
	return selection{index: at}, Violation{}
}

func (c *choices) selectOther(text string, r *Report) (p selection, wrong Violation) {
	switch {
	case !c.other:
		return p, violationNotAChoice
	case textclean.IsBlank(text):
		return selection{index: noSelection}, Violation{}
	}
	text, wrong = textRule{max: MaxShortText, oneLine: true}.normalize(text, r)
	return selection{index: len(c.ids), other: text}, wrong
}

type choiceRule struct{ *choices }

func newChoice(b *schema.Block, _ ServiceConfig) Rule {
	return choiceRule{newChoices(b.Choices, b.Properties.OtherOption)}
}

func newPictures(b *schema.Block, from ServiceConfig) Rule {
	if b.Properties.MultiSelection {
		return newMultiple(b, from)
	}
	return newChoice(b, from)
}

func (t choiceRule) Check(w *jsontree.Writer, n jsontree.Node, r *Report) {
	if p, wrong := t.readSelection(n, r); !r.addIfSet(n, wrong) && p.index != noSelection {
		t.writeSelection(w, p)
	}
}

func (t choiceRule) Sample() string {
	if len(t.ids) > 0 {
		return QuoteJSON(t.ids[0])
	}
	if t.other {
		return `{"other":"Sample answer"}`
	}
	return "null"
}

func (t choiceRule) contradiction() (member string, why Explanation) {
	if t.other || len(t.ids) > 0 {
		return "", Explanation{}
	}
	return "/choices", Explanation{Reason: "no_choices", Message: "the block has no choices"}
}

// selectionIdentity returns the identity function for choices. If ordered is false, the order of the choices does not
// matter.
func selectionIdentity(ordered bool) func(jsontree.Node) ([]byte, bool) {
	return func(value jsontree.Node) ([]byte, bool) {
		if value.Kind() != jsontree.Array {
			one, ok := choiceIdentity(value)
			return append([]byte("c"), one...), ok
		}
		var all [][]byte
		for _, item := range value.All() {
			one, ok := choiceIdentity(item)
			if !ok {
				return nil, false
			}
			all = append(all, one)
		}
		if !ordered {
			slices.SortFunc(all, bytes.Compare)
		}
		return append([]byte("c"), bytes.Join(all, []byte{','})...), len(all) > 0
	}
}

// choiceIdentity returns the ID as a JSON string, or the “Other” text in an array, so that an ID never equals a text.
func choiceIdentity(value jsontree.Node) ([]byte, bool) {
	if id := value.Member("id"); id.Kind() == jsontree.String {
		return jsontree.AppendString(nil, id.Text()), true
	}
	other := foldText(value.Member("other").Text())
	return append(jsontree.AppendString([]byte{'['}, other), ']'), other != ""
}

// ChoiceLabels returns the labels of a rule's choices or columns, keyed by ID, or nil if the rule has none.
func ChoiceLabels(r Rule) map[string]string {
	var c *choices
	switch t := r.(type) {
	case choiceRule:
		c = t.choices
	case multipleRule:
		c = t.choices
	case rankingRule:
		c = t.choices
	case matrixRule:
		c = t.columns
	default:
		return nil
	}
	labels := make(map[string]string, len(c.ids))
	for _, value := range c.values {
		var choice schema.Choice
		_ = json.Unmarshal(value, &choice) // cannot fail, because newChoices encoded the value
		labels[choice.ID] = choice.Label
	}
	return labels
}

var violationNotAChoice = Violation{Code: schema.CodeNotAChoice, Message: "must be one of the choices"}

func violationWrongChoiceType() Violation {
	return violationWrongType("choice", "must be one of the choices")
}
