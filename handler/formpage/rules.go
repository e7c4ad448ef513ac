package formpage

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// rulePlan is what a browser needs to walk through the form by itself. It is part of the
// page where the host allows that: see Config.BrowserRules.
type rulePlan struct {
	Single    bool            `json:"single,omitempty"` // one question at a time
	OnePage   bool            `json:"onePage,omitempty"`
	Comma     bool            `json:"comma,omitempty"` // the page's language writes a decimal comma
	Blocks    []ruleBlock     `json:"blocks"`
	Variables json.RawMessage `json:"variables,omitempty"`
	Hidden    json.RawMessage `json:"hidden,omitempty"` // names of the hidden fields
}

// ruleBlock is one block. Without a Kind, no rule reads its answer.
type ruleBlock struct {
	ID       string          `json:"id"`
	Role     string          `json:"role,omitempty"` // what it does to the pages: asks, break, captcha
	Ending   bool            `json:"ending,omitempty"`
	Hide     bool            `json:"hide,omitempty"`
	Required bool            `json:"required,omitempty"`
	Rule     json.RawMessage `json:"rule,omitempty"`
	Children []ruleBlock     `json:"children,omitempty"`
	ruleAnswer
}

// ruleAnswer says how a browser reads an answer, so that rules see what they see of the
// stored one.
type ruleAnswer struct {
	Kind    string      `json:"kind,omitempty"`
	Min     *float64    `json:"min,omitempty"`
	Max     *float64    `json:"max,omitempty"`
	Line    bool        `json:"line,omitempty"` // the text is one line
	Stop    bool        `json:"stop,omitempty"` // a false is not an answer
	Own     bool        `json:"own,omitempty"`  // the respondent's own text is a choice
	Many    bool        `json:"many,omitempty"`
	Seconds bool        `json:"seconds,omitempty"`
	IDs     []string    `json:"ids,omitempty"`   // of the choices or columns, in their order
	Names   [][2]string `json:"names,omitempty"` // id and input of each row, or of each place
}

// rulePlan returns the plan of the form; nil where browsers may not have it, where it has
// no rules, and where a rule reads an answer that only the service knows as it is
// stored, such as a phone number, or that the host gives. The service walks through the form at every step then.
func (c *call) rulePlan() *rulePlan {
	form := &c.form
	if !c.h.config.BrowserRules || !slices.ContainsFunc(form.Blocks, func(b schema.Block) bool { return len(ruleOf(&b)) > 0 }) {
		return nil
	}
	plan := &rulePlan{
		Single: oneAtATime(form), OnePage: form.Settings.SinglePage, Comma: c.words.comma,
		Variables: form.Definition.Variables, Hidden: form.Definition.HiddenFields,
	}
	r := ruleReads{hosts: c.h.config.HostAnswers != nil}
	for i := range form.Blocks {
		r.rule(ruleOf(&form.Blocks[i]))
	}
	blocks, ok := r.blocks(form.Blocks, true)
	plan.Blocks = blocks
	if !ok {
		return nil
	}
	return plan
}

// ruleOf returns the rule of a block, nil for none.
func ruleOf(b *schema.Block) json.RawMessage {
	if rule := properties(b).Rule; len(rule) > len("{}") {
		return rule
	}
	return nil
}

// ruleReads are the paths that the rules of a form read.
type ruleReads struct {
	paths []string
	all   bool // a rule computes a path, or reads all answers at once
	hosts bool // the host may answer hidden blocks
}

func (r *ruleReads) rule(raw json.RawMessage) {
	if len(raw) == 0 {
		return
	}
	tree, err := jsontree.Parse(raw, jsontree.BodyBounds)
	if err != nil {
		return // no write stores such a rule
	}
	defer tree.Release()
	rule := tree.Root()
	r.logic(rule.Member("show"))
	r.logic(rule.Member("require"))
	if set := rule.Member("set"); set.Kind() == jsontree.Object {
		for _, value := range set.All() {
			r.logic(value)
		}
	}
	if next := rule.Member("next"); next.Kind() == jsontree.Array {
		for _, jump := range next.All() {
			if jump.Kind() == jsontree.Object {
				r.logic(jump.Member("if"))
			}
		}
	}
}

func (r *ruleReads) logic(n jsontree.Node) {
	if n.Kind() == jsontree.Null {
		return
	}
	l, err := logic.Compile(n)
	if err != nil {
		return // unreadable logic is ignored
	}
	paths, computed := l.Reads()
	for _, p := range paths {
		r.paths = append(r.paths, strings.Clone(p))
	}
	r.all = r.all || computed
}

// reads reports whether a rule may read the answer to a block.
func (r *ruleReads) reads(id string) bool {
	return r.all || slices.ContainsFunc(r.paths, func(p string) bool {
		return p == "answers" || p == "answers."+id || strings.HasPrefix(p, "answers."+id+".")
	})
}

// readsAny reports whether a rule may read the answer to a block or to one within it.
func (r *ruleReads) readsAny(b *schema.Block) bool {
	return r.reads(b.ID) || slices.ContainsFunc(b.Children, func(c schema.Block) bool { return r.readsAny(&c) })
}

// blocks returns the plan's blocks; ok is false when a browser cannot read an answer that
// a rule reads.
func (r *ruleReads) blocks(blocks []schema.Block, top bool) (list []ruleBlock, ok bool) {
	for i := range blocks {
		b := &blocks[i]
		p := properties(b)
		if p.Hide { // jumps may name it all the same
			if r.hosts && r.readsAny(b) {
				return nil, false
			}
			list = append(list, ruleBlock{ID: b.ID, Hide: true})
			continue
		}
		one := ruleBlock{ID: b.ID, Ending: top && b.Type == schema.TypeEnding, Required: b.Required}
		if top {
			one.Rule, one.Role = ruleOf(b), role(b)
		}
		if takesAnswer(b.Type) && r.reads(b.ID) {
			if one.ruleAnswer = ruleAnswerOf(b, p); one.Kind == "" {
				return nil, false
			}
		}
		if one.Children, ok = r.blocks(b.Children, false); !ok {
			return nil, false
		}
		if top {
			one.Children = flat(one.Children)
		}
		list = append(list, one)
	}
	return list, true
}

// flat lists children at all levels, but for hidden ones.
func flat(children []ruleBlock) []ruleBlock {
	var list []ruleBlock
	for _, c := range children {
		inner := c.Children
		c.Children = nil
		if !c.Hide {
			list = append(append(list, c), flat(inner)...)
		}
	}
	return list
}

// role is what a block does to the pages: see singleSteps and brokenSteps.
func role(b *schema.Block) string {
	switch {
	case b.Type == schema.TypePageBreak:
		return "break"
	case b.Type == schema.TypeCaptcha:
		return "captcha"
	case startsStep(b):
		return "asks"
	}
	return ""
}

// ruleAnswerOf says how a browser reads the answer to a block; without a Kind it cannot.
func ruleAnswerOf(b *schema.Block, p *schema.Properties) ruleAnswer {
	switch b.Type {
	case schema.TypeYesNo:
		return ruleAnswer{Kind: "truth"}
	case schema.TypeLegal:
		return ruleAnswer{Kind: "consent", Stop: p.LegalStopFurther}
	case schema.TypeNumber:
		a := ruleAnswer{Kind: "number"}
		if p.MinVal {
			a.Min = p.Min
		}
		if p.MaxVal {
			a.Max = p.Max
		}
		return a
	case schema.TypeRating, schema.TypeOpinionScale, schema.TypeNPS:
		from, to, step := scaleOf(b.Type, p)
		if _, buttons := scaleSteps(b.Type, from, to, step); !buttons {
			return ruleAnswer{}
		}
		return ruleAnswer{Kind: "step"}
	case schema.TypeShortText, schema.TypeLongText:
		most := 10_000.0
		if b.Type == schema.TypeLongText {
			most = 100_000
		}
		if p.MaxChars != nil && *p.MaxChars > 0 {
			most = float64(*p.MaxChars)
		}
		return ruleAnswer{Kind: "text", Max: &most, Line: b.Type == schema.TypeShortText}
	case schema.TypeSingleChoice, schema.TypeDropdown, schema.TypeMultipleChoice, schema.TypePictureChoice:
		a := ruleAnswer{Kind: "choice", Own: p.OtherOption, Many: takesSeveral(b)}
		if a.Many {
			a.IDs = choiceIDs(b.Choices)
			low, high := chosenBounds(p)
			least, most := float64(low), float64(high)
			a.Min = &least
			if high > 0 {
				a.Max = &most
			}
		}
		return a
	case schema.TypeRanking:
		a := ruleAnswer{Kind: "ranking"}
		for _, id := range choiceIDs(b.Choices) {
			a.Names = append(a.Names, [2]string{id, subName(nameRank, id, b.ID)})
		}
		return a
	case schema.TypeMatrix:
		a := ruleAnswer{Kind: "matrix", Many: p.MultiSelection, IDs: choiceIDs(b.MatrixColumns)}
		for _, id := range choiceIDs(b.MatrixRows) {
			a.Names = append(a.Names, [2]string{id, subName(nameRow, id, b.ID)})
		}
		return a
	case schema.TypeDate:
		if p.ShowTimePicker || p.AfterDate != nil || p.BeforeDate != nil || len(p.SpecificDates) > 0 || p.DisabledDays != nil {
			return ruleAnswer{} // bounds are days of the service's time zone
		}
		return ruleAnswer{Kind: "date"}
	case schema.TypeTime:
		return ruleAnswer{Kind: "time", Seconds: p.ShowSeconds}
	case schema.TypeCountry:
		return ruleAnswer{Kind: "picked"}
	}
	return ruleAnswer{}
}

// choiceIDs are the ids of choices, each once.
func choiceIDs(choices []schema.Choice) []string {
	var list []string
	for _, c := range choices {
		if !slices.Contains(list, c.ID) {
			list = append(list, c.ID)
		}
	}
	return list
}

// keepOff draws what is off the way now and may come to it by an answer on this page: the
// script holds it ready. What was typed there stays among the page's inputs too, for
// browsers without a script.
func (c *call) keepOff(view *pageView, b *builder, steps []step, at int) {
	view.FirstNumber = 1
	for _, s := range steps[:at] {
		for _, id := range ids(s.blocks) {
			if b.numbers[id] > 0 {
				view.FirstNumber++
			}
		}
	}
	if view.Single {
		return // what may come is another step
	}
	current := steps[at]
	begins := func(s step) int {
		if len(s.blocks) == 0 {
			return 0
		}
		return slices.IndexFunc(c.form.Blocks, func(b schema.Block) bool { return b.ID == s.blocks[0].ID })
	}
	from, to := begins(current), len(c.form.Blocks)
	if at+1 < len(steps) {
		to = begins(steps[at+1])
	}
	used := b.used
	b.used, b.pen.pieces = map[string]bool{}, nil
	for i := from; i < to; i++ {
		block := c.form.Blocks[i : i+1]
		if contains(current.blocks, block[0].ID) {
			continue
		}
		if c.form.Settings.NumberedQuestions {
			b.count(block) // the script numbers anew
		}
		b.fields(block, 2)
	}
	view.Kept = view.insert(b.pen.end())
	b.used, b.held = used, b.used
}
