package formpage

import (
	"embed"
	"html/template"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

//go:embed templates
var templateFiles embed.FS

// html/template escapes for the place where a value stands, so labels and answers
// that hold markup do no harm.
var templates = template.Must(template.New("").ParseFS(templateFiles, "templates/*.html"))

// Document is what [Config.Layout] is executed with.
type Document struct {
	Language  string // a language tag, for the attribute lang
	Direction string // "ltr" or "rtl", for the attribute dir
	Title     string
	// Head belongs into the head, Body into the body, once each.
	Head, Body template.HTML
	// Nonce is the one that the Content-Security-Policy of the response allows for
	// elements style and script. A layout's own files from the page's origin need none.
	Nonce string
	Form  formsvc.PublicForm // zero when there is no form at the address
}

// pageView is what the templates draw.
type pageView struct {
	words *words.Words

	Language, Direction string            // of the page's own words
	W                   map[string]string // these

	Form     formsvc.PublicForm
	Kind     string // form, message or ending
	Nonce    string
	Theme    theme.Theme
	Embedded bool
	Brand    Link

	Title, Text string // of a message

	Heading     string // the form's name
	ShowHeading bool
	Single      bool
	First, Last bool
	At          string
	Step, Steps int
	Navigation  bool
	Progress    bool
	Reactive    bool          // the form has rules: other blocks may be called for while typing
	Inputs      template.HTML // the hidden inputs
	Notice      string
	Lost        template.HTML // see pen.Inserts; so are Problems and Fields
	LostFiles   string        // their names
	Problems    template.HTML
	Fields      template.HTML
	Cut         string // what is missing of the fields
	Next        string
	Multipart   bool
	Native      bool // the script leaves sending to the browser: a foreign script runs in the page

	Preview *preview // the bar that says so

	inserts pen.Inserts

	Ending  *field
	LeadsTo template.URL // where the ending leads on to, by itself
	Share   string       // address to share
}

// problem is a line of the summary above the form. ID is empty when the page has no
// field for it.
type problem struct{ ID, Label, Text string }

// T returns a text in the page's language.
func (v *pageView) T(key string, params ...any) string { return v.words.Get(key, params...) }

// showStep shows one page of the form with what was typed and what is wrong.
func (c *call) showStep(status, at int, faults []schema.Violation) {
	view, b := c.stepView(at, faults)
	c.render(status, view, b.policy)
}

// stepView makes the view of one page of the form.
func (c *call) stepView(at int, faults []schema.Violation) (*pageView, *builder) {
	view, steps := c.view("form"), c.steps
	b := c.newBuilder(view, c.path, faults)
	current := steps[at]

	view.Single = walk.OneAtATime(&c.form)
	view.Step, view.Steps = at+1, len(steps)
	view.First, view.Last = at == 0, at == len(steps)-1
	view.At = current.ID
	view.Progress = c.form.Settings.ProgressBar && len(steps) > 1
	view.Navigation = c.form.Settings.Navigation && len(steps) > 1
	b.focus = at > 0 && len(faults) == 0 && c.notice == ""
	b.fields(current.Blocks)
	view.Fields = view.inserts.Add(b.pen.End())
	b.problems = append(b.problems, b.elsewhere(steps)...)
	if len(b.problems) > 0 {
		p := pen.New(maxProblems)
		for _, one := range pen.Each(p, b.problems) {
			p.Put("<li>")
			p.When(one.ID != "", `<a href="#%i">%s</a>`, one.ID, one.Label)
			p.When(one.ID == "", "<b>%s</b>", one.Label)
			p.Put(" <span>%v</span></li>", one.Text)
		}
		view.Problems = view.inserts.Add(p.End())
	}
	view.Inputs = view.inserts.Add(c.hiddenInputs(current, b.used))
	view.Notice, view.Lost = c.notice, view.lost(c.lost)
	if view.First && view.Notice == "" && slices.ContainsFunc(steps, func(s walk.Step) bool { return c.h.host.InVain(s.Blocks) }) { // said before somebody fills in the rest
		view.Notice = c.words.Get("fault.REQUIRED.unavailable")
	}
	view.Multipart = b.multipart
	view.ShowHeading = c.form.Settings.ShowTitle
	view.Next = c.nextLabel(view, current)
	for i := range c.form.Blocks {
		view.Reactive = view.Reactive || len(formblock.Properties(&c.form.Blocks[i]).Rule) > 2
	}
	if b.cut > 0 {
		label := b.cutAt
		if utf8.RuneCountInString(label) > 100 {
			label = string([]rune(label)[:100]) + "…"
		}
		view.Cut = c.words.Get("cut", "n", b.cut, "label", label)
	}
	return view, b
}

// lost draws what was typed and has no place.
func (v *pageView) lost(list []read.Unplaced) template.HTML {
	if len(list) == 0 {
		return ""
	}
	p := pen.New(0)
	for _, one := range list {
		p.Put("<div><dt>%v</dt><dd>%v</dd></div>", one.Block, one.Text)
	}
	return v.inserts.Add(p.End())
}

// nextLabel is the text of the button that goes on.
func (c *call) nextLabel(view *pageView, s walk.Step) string {
	if n := len(s.Blocks); n > 0 {
		last := s.Blocks[n-1]
		text := formblock.Properties(&last).ButtonText
		if text != "" && (last.Type == schema.TypeWelcome || last.Type == schema.TypeStatement || view.Single && !view.Last) {
			return text
		}
		if last.Type == schema.TypeWelcome && n == 1 && !view.Last {
			return c.words.Get("begin")
		}
	}
	switch {
	case !view.Last && view.Single:
		return c.words.Get("next")
	case !view.Last:
		return c.words.Get("next_page")
	case c.form.Settings.SubmitLabel != "":
		return c.form.Settings.SubmitLabel
	}
	return c.words.Get("submit")
}

// hiddenInputs carry the visit, and the answers of the inputs that are not shown.
func (c *call) hiddenInputs(on walk.Step, shown map[string]bool) []pen.Piece {
	p := pen.New(0)
	hidden := func(name string, values ...string) {
		for _, value := range values {
			p.Put(`<input type="hidden" name="%v" value="%v">`, name, value)
		}
	}
	hidden(input.State, c.token())
	hidden(input.At, on.ID)
	hidden(input.Language, c.words.Locale.String())
	for _, name := range []string{input.Viewed, input.Started, input.Took} {
		hidden(name, c.values.Get(name))
	}
	hidden(input.Proof, c.values[input.Proof]...)
	for _, name := range []string{input.Lost, input.Embed} {
		if c.values.Has(name) {
			hidden(name, c.values.Get(name))
		}
	}
	hidden(input.Seen, walk.IDs(on.Blocks)...)
	for _, name := range slices.Sorted(maps.Keys(c.readings)) {
		if r := c.readings[name]; r.Ask && shown[name] {
			hidden(input.Shown, r.Shown(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		if !shown[name] && (input.IsAnswer(name) || strings.HasPrefix(name, input.Hidden) || strings.HasPrefix(name, input.UTM)) {
			hidden(name, c.values[name]...)
		}
	}
	return p.End()
}

func (c *call) showMessage(status int, title, text string) {
	view := c.view("message")
	view.Title, view.Text = title, text
	c.render(status, view, new(policy.Policy))
}

// showEnding shows an ending, which leads on to a target, "" for nowhere.
func (c *call) showEnding(ending schema.Block, target template.URL) {
	view := c.view("ending")
	b := c.newBuilder(view, schema.Path{}, nil)
	view.Ending, view.LeadsTo = new(field), target
	b.field(view.Ending, &ending)
	if formblock.Properties(&ending).ShareButtons && c.preview == nil {
		view.Share = c.form.PublicID
	}
	c.render(200, view, b.policy)
}

// view is a page as far as it does not depend on the blocks.
func (c *call) view(kind string) *pageView {
	v := &pageView{
		words: c.words, Language: c.words.Tag, Direction: c.words.Direction, W: c.words.Texts, Form: c.form, Kind: kind,
		Heading: c.form.Name, Theme: c.source().looks, Preview: c.preview, Embedded: c.embedded(),
	}
	if c.form.Settings.Branding {
		v.Brand = c.h.config.Brand
	}
	return v
}

// up leads from the page's address to the directory of the handler: nowhere from
// {base}/{id}, one up from {base}/{id}/done.
func (c *call) up() string {
	path := c.h.below(c.r.URL.Path)
	return strings.Repeat("../", strings.Count(path, "/"))
}

// embedded reports whether the page is shown in a frame.
func (c *call) embedded() bool {
	return c.values.Has(input.Embed) || c.r.URL.RawQuery != "" && c.query().Has(input.Embed)
}
