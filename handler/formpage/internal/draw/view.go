package draw

import (
	"html/template"

	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
)

// view is what the templates draw.
type view struct {
	*Page
	Kind  string // form, message or ending
	Nonce string
	Brand struct{ Text, URL string }

	Title, Text string        // of a message
	Lost        template.HTML // see pen.Inserts; so are Inputs, Problems and Fields
	LostNames   string

	Ending  *field.Field
	LeadsTo template.URL // where the ending leads on to, by itself
	Share   string       // address to share

	Single      bool
	First, Last bool
	Step        int    // from 1
	At          string // its id
	Progress    bool
	Navigation  bool
	Reactive    bool // the form has rules: other blocks may be called for while typing
	Multipart   bool
	Native      bool // the script leaves sending to the browser
	Inputs      template.HTML
	Problems    template.HTML
	Fields      template.HTML
	Cut         string // what is missing of the fields
	Next        string

	inserts pen.Inserts
	policy  *policy.Policy
}

// newView is a page as far as it does not depend on the blocks.
func (p *Page) newView(kind string) *view {
	v := &view{Page: p, Kind: kind, policy: new(policy.Policy)}
	if p.Form.Settings.Branding {
		v.Brand = p.Site.Brand
	}
	v.Lost = v.lost()
	return v
}

// lost draws what was typed and has no place.
func (v *view) lost() template.HTML {
	if len(v.Page.Lost) == 0 {
		return ""
	}
	p := pen.New(0)
	for _, one := range v.Page.Lost {
		p.Put("<div><dt>%v</dt><dd>%v</dd></div>", one.Block, one.Text)
	}
	return v.inserts.Add(p.End())
}

// source is what the fields of the page are made of.
func (v *view) source() *field.Source {
	return &field.Source{
		Blocks: v.Form.Blocks, Settings: &v.Form.Settings, Single: v.Single,
		Words: v.Words, Host: v.Host, Theme: &v.Theme,
		Values: v.Values, Readings: v.Readings, Files: v.Files, Faults: v.Faults, Solved: v.Solved, Visit: v.Visit,
	}
}
