package main

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

// formView is a form as templates/form.html draws it.
type formView struct {
	Form     formsvc.PublicForm
	Title    string
	Intro    string
	Inputs   []input // hidden ones
	Fields   []field
	Problems []problem // in the order of the form
	Submit   string
}

type input struct{ Name, Value string }

// problem is a line of the summary above the form. ID is empty when the form shows
// no field for it.
type problem struct{ ID, Label, Text string }

// field is one block with everything that its HTML needs.
type field struct {
	schema.Block
	Properties schema.Properties

	Kind   string // which template draws it
	ID     string // of the HTML element, also the start of the ids of its parts
	Number int    // zero: not numbered
	Name   string
	Type   string // of the input
	Value  string
	Fault  string

	Options     []option
	OtherName   string // empty: there is no "other"
	OtherLabel  string
	OtherText   string
	OtherChosen bool

	Children []field
}

type option struct {
	Value, Label string
	Chosen       bool
}

// A choice is posted as its id behind a prefix, so that no id can be mistaken for
// "other".
const (
	choicePrefix = "id:"
	otherValue   = "other"
)

// maxSteps bounds how many buttons a scale gets.
const maxSteps = 101

func newFormView(form formsvc.PublicForm, inputs url.Values, faults map[string]string) formView {
	v := formView{Form: form, Title: form.Name, Submit: "Send"}
	if form.Settings.SubmitLabel != "" {
		v.Submit = form.Settings.SubmitLabel
	}
	for name := range inputs {
		if !strings.HasPrefix(name, answerPrefix) && !strings.HasPrefix(name, otherPrefix) {
			v.Inputs = append(v.Inputs, input{name, inputs.Get(name)})
		}
	}
	slices.SortFunc(v.Inputs, func(a, b input) int { return strings.Compare(a.Name, b.Name) })

	blocks := form.Blocks
	if len(blocks) > 0 && blocks[0].Type == schema.TypeWelcome {
		v.Title, v.Intro, blocks = blocks[0].Label, blocks[0].Description, blocks[1:]
	}
	b := &fieldBuilder{inputs: inputs, faults: faults, numbered: form.Settings.NumberedQuestions, shown: map[string]bool{}}
	v.Fields = b.fields(blocks)
	v.Problems = b.problems
	for id, text := range faults { // of no field that is shown
		if !b.shown[id] {
			v.Problems = append(v.Problems, problem{Label: id, Text: text})
		}
	}
	return v
}

// fieldBuilder walks through the blocks of a form in order.
type fieldBuilder struct {
	inputs   url.Values
	faults   map[string]string
	numbered bool

	count, questions int
	shown            map[string]bool
	problems         []problem
}

func (fb *fieldBuilder) fields(blocks []schema.Block) []field {
	var list []field
	for _, b := range blocks {
		switch b.Type {
		case schema.TypeEnding, schema.TypePageBreak, schema.TypeCaptcha:
			continue
		}
		list = append(list, fb.field(b))
	}
	return list
}

func (fb *fieldBuilder) field(b schema.Block) field {
	fb.count++
	f := field{
		Block: b, Properties: properties(b),
		ID: "q" + strconv.Itoa(fb.count), Name: answerPrefix + b.ID, Value: fb.inputs.Get(answerPrefix + b.ID),
	}
	f.draw()
	switch f.Kind {
	case "group":
		f.Children = fb.fields(b.Children)
		return f
	case "content":
		return f
	}

	fb.shown[b.ID] = true
	if fb.numbered {
		fb.questions++
		f.Number = fb.questions
	}
	posted := fb.inputs[f.Name]
	for i := range f.Options {
		f.Options[i].Chosen = slices.Contains(posted, f.Options[i].Value)
	}
	if f.Properties.OtherOption {
		f.OtherName, f.OtherText = otherPrefix+b.ID, fb.inputs.Get(otherPrefix+b.ID)
		f.OtherChosen = slices.Contains(posted, otherValue)
		if f.OtherLabel = f.Properties.OtherText; f.OtherLabel == "" {
			f.OtherLabel = "Other"
		}
	}
	if f.Fault = fb.faults[b.ID]; f.Fault != "" {
		fb.problems = append(fb.problems, problem{f.FirstID(), b.Label, f.Fault})
	}
	return f
}

// draw chooses how a block is drawn.
func (f *field) draw() {
	f.Kind, f.Type = "text", "text"
	p := f.Properties
	switch f.Block.Type {
	case schema.TypeShortText, schema.TypeNumber, schema.TypeCountry:
	case schema.TypeLongText:
		f.Kind = "textarea"
	case schema.TypeEmail:
		f.Type = "email"
	case schema.TypePhone:
		f.Type = "tel"
	case schema.TypeWebsite:
		f.Type = "url"
	case schema.TypeTime:
		f.Type = "time"
	case schema.TypeDate:
		f.Type = "date"
		if p.ShowTimePicker {
			f.Type = "datetime-local"
		}
	case schema.TypeRating:
		f.Kind, f.Options = "stars", steps(1, or(p.To, 5), 1)
	case schema.TypeNPS:
		f.Kind, f.Options = "scale", steps(0, 10, 1)
	case schema.TypeOpinionScale:
		f.Kind, f.Options = "scale", steps(or(p.From, 1), or(p.To, 10), or(p.ScaleStep, 1))
	case schema.TypeYesNo:
		f.Kind, f.Options = "scale", []option{{Value: "true", Label: "Yes"}, {Value: "false", Label: "No"}}
	case schema.TypeLegal:
		f.Kind, f.Type = "choices", "checkbox"
		f.Options = []option{{Value: "true", Label: p.LegalText}}
		if p.LegalType == nil || *p.LegalType == 0 {
			f.Type = "radio"
			f.Options = []option{{Value: "true", Label: "I accept"}, {Value: "false", Label: "I do not accept"}}
		}
	case schema.TypeDropdown, schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice:
		f.Kind, f.Type = "choices", "radio"
		if f.Block.Type == schema.TypeDropdown {
			f.Kind = "select"
		} else if isMultiple(f.Block) {
			f.Type = "checkbox"
		}
		for _, c := range f.Choices {
			f.Options = append(f.Options, option{Value: choicePrefix + c.ID, Label: c.Label})
		}
	case schema.TypeGroup:
		f.Kind = "group"
	case schema.TypeMatrix, schema.TypeRanking, schema.TypeAddress, schema.TypeContactInfo,
		schema.TypeFileUpload, schema.TypeSignature, schema.TypePayment:
		f.Kind = "unsupported" // this example keeps to what plain inputs can do
	default:
		f.Kind = "content"
	}
}

// FirstID is the id of the first element that takes the focus.
func (f field) FirstID() string {
	if len(f.Options) > 0 && f.Kind != "select" {
		return f.OptionID(0)
	}
	return f.ID
}

// OptionID is the id of one option's input.
func (f field) OptionID(i int) string { return f.ID + "-" + strconv.Itoa(i+1) }

// DescribedBy names the elements that explain the field to a screen reader.
func (f field) DescribedBy() string {
	var ids []string
	if f.Description != "" {
		ids = append(ids, f.ID+"-hint")
	}
	if f.Fault != "" {
		ids = append(ids, f.ID+"-error")
	}
	return strings.Join(ids, " ")
}

func properties(b schema.Block) schema.Properties {
	if b.Properties == nil {
		return schema.Properties{}
	}
	return *b.Properties
}

// isMultiple says whether the answer is a list of choices.
func isMultiple(b schema.Block) bool {
	return b.Type == schema.TypeMultipleChoice || b.Type == schema.TypePictureChoice && properties(b).MultiSelection
}

func or(n *float64, otherwise float64) float64 {
	if n == nil {
		return otherwise
	}
	return *n
}

// steps are the values of a scale.
func steps(from, to, step float64) []option {
	var list []option
	for i := 0; step > 0 && from+float64(i)*step <= to && i < maxSteps; i++ {
		text := fmt.Sprintf("%g", from+float64(i)*step)
		list = append(list, option{Value: text, Label: text})
	}
	return list
}
