// Package render renders pages: a form's questions, its ending, and messages.
package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/formstep"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/internal/insertion"
	"github.com/formsvc/formsvc/schema"
)

// Page holds the data for a page.
type Page struct {
	field.Source
	Form *formsvc.PublicForm
	Site *Site
	Data func() any // Returns the data for the host's layout. If nil, there is none.

	Up       string // The relative path from the page to the base path.
	Posted   bool   // Whether the page responds to a POST.
	Embedded bool   // Whether the page is in a frame that asked for the embedded layout.
	Framed   bool   // Whether the page is in a frame.
	Preview  *Preview
	Edit     *Edit        // Set if the page changes a stored submission.
	EditURL  template.URL // Where a message or an ending leads, to change the respondent's answers.

	Inserted []insertion.Reference // All insertions rendered in the page's texts.

	Respondent string       // The name of the respondent. If empty, the page does not say who is answering.
	Reflected  bool         // Whether the page can contain text from its URL next to the respondent's or the host's data.
	SignInURL  template.URL // The URL of the sign-in button. If empty, the page has none.

	Notice    string                    // A sentence above the form.
	Lost      []formdata.UnmatchedInput // Shown with LostFiles, so that respondents can copy them.
	LostFiles []string
	Again     url.Values // The input that a button of a message submits again. If nil, there is no button.

	// These fields are for a page with questions.
	Steps     []formstep.Step // The form's pages.
	At        int             // This page's index in Steps.
	Path      schema.Path
	OnPath    []schema.Block // The result of formstep.BlocksOnPath.
	Index     formblock.Index
	State     string     // The signed visit.
	SaveOffer *SaveOffer // If nil, the page saves nothing.
}

// SaveOffer describes the partial submission that a page offers to save.
type SaveOffer struct {
	State  string // The signed state, for the page's input.
	Auto   bool   // Whether the page saves automatically.
	Saved  bool   // Whether a partial submission exists.
	Days   int    // The number of days until the partial submission expires.
	Access string // The key of the text that says who can read it.
	Status string // The status text's key.
	Link   string // Empty if the page shows no link.
}

// Site holds the settings in the host's Config that apply to all pages.
type Site struct {
	Layout         func(io.Writer, Document) error // If nil, the built-in layout is used.
	Brand          struct{ Text, URL string }
	FrameAncestors []string
}

// Document holds the parts of a page, for the host's layout.
type Document struct {
	Language   string
	Direction  string
	Title      string
	Head, Body template.HTML
	Nonce      string
	Form       formsvc.PublicForm
	Data       any
}

// Preview holds the contents of the bar above a page in a preview.
type Preview struct {
	Text     string   // The key of the text next to "preview".
	Notes    []string // How the preview differs from the form page.
	Warnings []Warning
}

// Edit holds the contents of a page that changes a stored submission.
type Edit struct {
	Text   string                    // Says what the page changes.
	State  string                    // The signed state, for the page's input.
	Kept   []formdata.UnmatchedInput // Stored answers that the form no longer has questions for.
	Reload template.URL              // Where the page without the respondent's changes is. Empty if the page does not offer it.
}

// Warning is a warning for a form's author.
type Warning struct{ Label, Path, Message string }

const maxSummary = 1 << 18

// SendStep sends a page with questions, the respondent's input and the violations.
func (p *Page) SendStep(w http.ResponseWriter, status int) error {
	v, s := p.newView("form"), p.Steps[p.At]
	p.Single = formstep.OneAtATime(p.Form)
	v.Step, v.At = p.At+1, s.ID
	v.First, v.Last = p.At == 0, v.Step == len(p.Steps)
	v.Progress = p.Settings.ProgressBar && len(p.Steps) > 1
	v.Navigation = p.Settings.Navigation && len(p.Steps) > 1
	p.Focus = p.At > 0 && len(p.Violations) == 0 && p.Notice == ""
	if p.Settings.NumberedQuestions {
		p.Numbered = p.OnPath
	}
	drawn := field.Render(&p.Source, s.Blocks)
	v.policy, v.Multipart, v.Native = &drawn.Policy, drawn.Multipart, drawn.Native
	v.Fields = v.inserts.Add(drawn.HTML)
	v.addProblems(append(drawn.Problems, p.otherProblems(drawn)...))
	v.Inputs = v.inserts.Add(p.renderHiddenInputs(s, drawn.Used))
	if v.First && p.Notice == "" && p.Edit == nil && slices.ContainsFunc(p.Steps, func(s formstep.Step) bool { return p.Host.CannotSubmit(s.Blocks) }) { // Warn before the respondent fills in the form.
		p.Notice = p.Words.Get("error.REQUIRED.unavailable")
	}
	v.Next = v.nextButtonLabel(s)
	switch {
	case p.Edit != nil:
		v.Identity = p.Edit.Text
	case p.Settings.Anonymous:
		v.Identity = p.Words.Get("respondent.anonymous")
	case p.Respondent != "":
		v.Identity = p.Words.Get("respondent.name", "name", words.Isolate(p.Respondent))
	}
	for i := range p.Form.Blocks {
		v.Reactive = v.Reactive || changesPath(formblock.Properties(&p.Form.Blocks[i]).Rule)
	}
	v.Live = slices.ContainsFunc(p.Inserted, func(r insertion.Reference) bool {
		return r.Source == insertion.Answers && formstep.ContainsBlock(s.Blocks, r.ID) || r.Source == insertion.Variables && v.Reactive
	})
	if drawn.Omitted > 0 {
		label := drawn.FirstOmitted
		if utf8.RuneCountInString(label) > 100 {
			label = string([]rune(label)[:100]) + "…"
		}
		v.Cut = p.Words.Get("truncated", "n", drawn.Omitted, "label", label)
	}
	return v.send(w, status)
}

func (v *view) addProblems(list []field.Problem) {
	if len(list) == 0 {
		return
	}
	p := htmlwriter.New(maxSummary)
	for _, one := range htmlwriter.EachFitting(p, list) {
		p.Put("<li>")
		p.PutIf(one.ID != "", `<a href="#%i">%s</a>`, one.ID, one.Label)
		p.PutIf(one.ID == "" && one.Label != "", "<b>%s</b>", one.Label)
		p.Put(" <span>%v</span></li>", one.Text)
	}
	v.Problems = v.inserts.Add(p.TakeChunks())
}

// changesPath reports whether a rule has more than checks, which do not show other blocks.
func changesPath(rule json.RawMessage) bool {
	if !bytes.Contains(rule, []byte(`"check"`)) {
		return len(rule) > len("{}")
	}
	var parts map[string]json.RawMessage
	_ = json.Unmarshal(rule, &parts) // The service has checked it.
	delete(parts, "check")
	return len(parts) > 0
}

// otherProblems returns the violations that belong to no field, neither on this page nor on another.
func (p *Page) otherProblems(drawn *field.Rendered) []field.Problem {
	var list []field.Problem
	for _, id := range slices.Sorted(maps.Keys(drawn.Violations)) {
		if drawn.ShowsBlock(id) {
			continue
		}
		label := id
		block := p.Index.Find(id)
		if block != nil {
			label = p.Label(block)
			if slices.ContainsFunc(p.Steps, func(s formstep.Step) bool { return formstep.ContainsBlock(s.Blocks, id) }) {
				continue // The page with this block is shown next.
			}
		}
		for _, v := range drawn.Violations[id] {
			list = append(list, field.Problem{Label: label, Text: p.ViolationText(v, block, false)})
		}
	}
	return list
}

func (v *view) nextButtonLabel(s formstep.Step) string {
	if n := len(s.Blocks); n > 0 {
		last := s.Blocks[n-1]
		text := v.Plain(formblock.Properties(&last).ButtonText, schema.Insertions)
		if text != "" && (last.Type == schema.TypeWelcome || last.Type == schema.TypeStatement || v.Single && !v.Last) {
			return text
		}
		if last.Type == schema.TypeWelcome && n == 1 && !v.Last {
			return v.Words.Get("start")
		}
	}
	switch {
	case !v.Last && v.Single:
		return v.Words.Get("next")
	case !v.Last:
		return v.Words.Get("next_page")
	}
	if v.Edit != nil {
		return v.Words.Get("edit.save")
	}
	return cmp.Or(v.Plain(v.Form.Settings.SubmitLabel, schema.Insertions), v.Words.Get("submit"))
}

func (p *Page) renderHiddenInputs(on formstep.Step, shown map[string]bool) []htmlwriter.Chunk {
	out := htmlwriter.New(0)
	hidden := func(name string, values ...string) {
		for _, value := range values {
			out.Put(`<input type="hidden" name="%v" value="%v">`, name, value)
		}
	}
	hidden(input.State, p.State)
	hidden(input.At, on.ID)
	if p.At > 0 {
		hidden(input.Previous, p.Steps[p.At-1].ID)
	}
	hidden(input.Language, p.Words.Locale.String())
	for _, name := range []string{input.Viewed, input.Started, input.Seconds} {
		hidden(name, p.Values.Get(name))
	}
	hidden(input.Proof, p.Values[input.Proof]...)
	if p.SaveOffer != nil {
		hidden(input.Partial, p.SaveOffer.State)
	} else if p.Edit != nil {
		hidden(input.Partial, p.Edit.State)
	}
	for _, name := range []string{input.LostShown, input.Embed} {
		if p.Values.Has(name) {
			hidden(name, p.Values.Get(name))
		}
	}
	hidden(input.Seen, formstep.QuestionIDs(on.Blocks)...)
	for _, name := range slices.Sorted(maps.Keys(p.Interpretations)) {
		if r := p.Interpretations[name]; r.NeedsConfirmation && shown[name] {
			hidden(input.InterpretationShown, r.Confirmation(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Values)) {
		if !shown[name] && (input.IsAnswer(name) || strings.HasPrefix(name, input.Hidden) || strings.HasPrefix(name, input.UTM)) {
			hidden(name, p.Values[name]...)
		}
	}
	return out.TakeChunks()
}

// SendMessage sends a page with a message instead of a form. The text is a string or HTML.
func (p *Page) SendMessage(w http.ResponseWriter, status int, title string, text any) error {
	v := p.newView("message")
	v.Title, v.Text, v.LostNames = title, text, p.Words.JoinList(p.LostFiles)
	if p.Again != nil {
		again := htmlwriter.New(0)
		for _, name := range slices.Sorted(maps.Keys(p.Again)) {
			for _, value := range p.Again[name] {
				again.Put(`<input type="hidden" name="%v" value="%v">`, name, value)
			}
		}
		v.Inputs = v.inserts.Add(again.TakeChunks())
	}
	return v.send(w, status)
}

// SendResume sends the page that a link to a partial submission opens. It has a button and, if no script can read the
// link from the URL, a text field for the link.
func (p *Page) SendResume(w http.ResponseWriter, status int) error {
	v := p.newView("resume")
	v.Title, v.Action, v.referrer = p.Words.Get("partial.title"), p.Up+p.Form.PublicID, "same-origin"
	return v.send(w, status)
}

// SendEnding sends an ending with a button for target, if any. If redirects is true, the page also opens target.
func (p *Page) SendEnding(w http.ResponseWriter, ending *schema.Block, target template.URL, redirects bool) error {
	v := p.newView("ending")
	p.Top = p.Preview == nil
	drawn := field.RenderEnding(&p.Source, ending, target != "")
	v.LeadsTo, v.redirects, v.policy, v.Fields = target, redirects, &drawn.Policy, v.inserts.Add(drawn.HTML)
	if formblock.Properties(ending).ShareButtons && p.Preview == nil {
		v.Share = p.Form.PublicID
	}
	return v.send(w, http.StatusOK)
}
