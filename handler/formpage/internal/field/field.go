// Package field draws the blocks of a form: it makes the view of each block and writes its HTML.
// A page may have thousands of them: html/template takes ten times as long for one, and as much
// memory. Values stand in text or in an attribute in double quotes, as a pen escapes them, and
// addresses were checked before (policy.Link, Policy.Picture).
//
// How blocks of a type are drawn stands in kinds.go.
package field

import (
	"html/template"

	"github.com/formsvc/formsvc/handler/formpage/internal/host"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// writer writes the HTML of fields in the page's words.
type writer struct {
	*pen.Pen
	words *words.Words
}

// Field is one block with everything that its HTML needs.
type Field struct {
	write   func(*writer, *Field) // nil: there is nothing to show
	control func(*writer, *Field) // writes the inputs of a question; nil: it has none

	Type  string // of the block
	Kind  string // for an unanswered field: a class of the page's style
	Set   bool   // it has several controls: drawn as a fieldset
	ID    string // of the element, the start of the ids of its parts
	Block string // the block's id

	Label, Description string
	Number             int // zero: not numbered
	Required           bool
	Fault              string
	Focus              bool   // it has the focus when the page is shown
	Help               string // a sentence that says which answer is expected
	Image              *policy.Picture
	ImageAlign         string
	P                  *schema.Properties

	Name, Value  string
	Input        string // type of the input
	Mode         string // its inputmode
	Complete     string // its autocomplete
	Placeholder  string
	Min, Max     string
	Step         string
	MaxChars     int
	Options      []Option
	Other        *Option
	OtherName    string // of the input for its text
	OtherText    string
	Rows         []Row
	Columns      []Option
	Parts        []Field
	Low, Mid, Hi string // labels of a scale
	Icon         string // its drawing
	Link         template.URL
	Sep          string // between the parts of a date
	Frame        string // address of an embed
	Video        string // address of a video file
	Zone         string // name of the input for the browser's offset
	Countries    string // the options of a country field, as HTML
	Callers      string // those of the country of a phone number
	Reads        bool   // how its text is read is shown below it
	Reading      string
	Stored       []upload.File
	Widget       *host.Widget
	Accept       string
	MaxBytes     int64 // of a file
	Several      bool
	Remove       string // name of the buttons that take a file back
	Amount       string // of a payment, with its currency
	Classes      string
}

// Option is a choice of a field.
type Option struct {
	ID, Name, Value, Label string
	Badge                  string
	Color                  string // class of its swatch
	Image                  *policy.Picture
	Chosen, Required       bool
}

// Row is a row of a matrix.
type Row struct {
	ID, Name, Label string
	Chosen          []string // the values of its columns
}

// Problem is a line of the summary above the form. ID is empty when the page has no
// field for it.
type Problem struct{ ID, Label, Text string }
