package draw

import (
	"html/template"
	"net/http"

	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/schema"
)

// Message sends a page that says something instead of a form.
func (p *Page) Message(w http.ResponseWriter, status int, title, text string) error {
	v := p.newView("message")
	v.Title, v.Text, v.LostNames = title, text, p.Words.List(p.LostFiles)
	return v.send(w, status)
}

// Ending sends the page of an ending, which leads on to a target, "" for nowhere.
func (p *Page) Ending(w http.ResponseWriter, ending *schema.Block, target template.URL) error {
	v := p.newView("ending")
	var drawn *field.Drawn
	v.Ending, drawn = field.Ending(v.source(), ending)
	v.LeadsTo, v.policy = target, &drawn.Policy
	if formblock.Properties(ending).ShareButtons && p.Preview == nil {
		v.Share = p.Form.PublicID
	}
	return v.send(w, http.StatusOK)
}
