package field

import (
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/schema"
)

// The most choices of a list that are options or in a select, and the most results of a search.
const (
	MaxListOptions = 40
	MaxListSelect  = 200
	MaxListResults = 20
)

// List holds the choices from a host's list that the page shows.
type List struct {
	Choices []schema.Choice // In a search, the selected choices and the results.
	Search  bool            // Whether the list is too long to show all choices.
	Text    string          // The search text.
	Results int             // How many choices the search found.
	Failed  bool            // Whether the choices cannot be shown.
}

// useList shows a block's choices as options, in a select or as the results of a search.
func (b *builder) useList(f *Field, block *schema.Block, l *List) {
	f.List, f.Fieldset = l, true
	dropdown := block.Type == schema.TypeDropdown || len(l.Choices) > MaxListOptions && !formblock.TakesMultipleChoices(block)
	switch {
	case l.Failed:
		f.control, f.Help = nil, b.Words.Get("list.failed")
		delete(b.Used, f.Name) // The page keeps the selection in hidden inputs.
		delete(b.Used, f.OtherName)
		return
	case dropdown && !l.Search:
		f.Input = "text"
	case block.Type == schema.TypeDropdown:
		f.Input = "radio"
	}
	f.control = (*writer).writeList
}

func (p *writer) writeList(f *Field) {
	p.Put(`<div class="fs-list">`)
	switch l := f.List; {
	case l.Search:
		p.Put(`<div class="fs-find"><input type="search" id="%i-q" name="%i" value="%v" autocomplete="off" aria-label="%s: %s">`, f.ID, input.Search+f.Block, l.Text, f.Label, p.words.Get("list.search"))
		p.Put(` <button class="fs-button quiet" name="go" value="stay">%s</button></div>`, p.words.Get("list.search"))
		p.Put(`<p class="fs-help" role="status">%s</p><div class="fs-found"><input type="hidden" name="%i" value="%v">`, p.resultsText(l), input.Searched+f.Block, l.Text)
		p.writeChoices(f)
		p.Put("</div>")
	case f.Input == "text":
		p.writeSelect(f)
	default:
		p.writeChoices(f)
	}
	p.Put("</div>")
}

func (p *writer) resultsText(l *List) string {
	switch {
	case l.Text == "":
		return p.words.Get("list.hint")
	case l.Results == 0:
		return p.words.Get("list.none")
	case l.Results == MaxListResults:
		return p.words.Get("list.first", "n", l.Results)
	}
	return p.words.Get("list.found", "n", l.Results)
}
