// Package draw writes pages: of the questions of a form, of its ending, and of what there is to
// say instead. Requests and the handler are above it: a page is drawn of data.
package draw

import (
	"html/template"
	"io"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/schema"
)

// Page has the data that a page is drawn from.
type Page struct {
	field.Source
	Form *formsvc.PublicForm
	Site *Site

	Up       string // leads from the page's address to the directory of the handler
	Posted   bool   // the page answers a POST
	Embedded bool   // it is shown in a frame
	Preview  *Preview

	Notice    string          // a sentence above the form
	Lost      []read.Unplaced // shown to be copied, and so are LostFiles
	LostFiles []string

	// Of a page with questions.
	Steps []walk.Step // the pages of the form
	At    int         // which of them this page is
	Path  schema.Path
	Index formblock.Index
	State string // the visit, signed
}

// Site has the settings of the host's Config for all pages.
type Site struct {
	Layout         func(io.Writer, Document) error // nil: the plain one
	Brand          struct{ Text, URL string }
	FrameAncestors []string
}

// Document is a page in its parts.
type Document struct {
	Language   string
	Direction  string
	Title      string
	Head, Body template.HTML
	Nonce      string
	Form       formsvc.PublicForm
}

// Preview is the bar of a page that is a preview.
type Preview struct {
	Text     string   // key of the text that the bar shows beside "preview"
	Notes    []string // what respondents see in another way
	Warnings []Warning
}

// Warning is what an author is told of a form.
type Warning struct{ Label, Path, Message string }
