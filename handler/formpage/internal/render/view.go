package render

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"embed"
	"html/template"
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formstep"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
)

//go:embed templates
var templateFiles embed.FS

// html/template escapes each value for its context, so markup in labels and answers is harmless.
var templates = template.Must(template.New("").ParseFS(templateFiles, "templates/*.html"))

type view struct {
	*Page
	// These are copies of the page's fields, because reflection finds promoted fields slowly.
	Form      *formsvc.PublicForm
	Words     *words.Words
	Theme     *theme.Theme
	Preview   *Preview
	Embedded  bool
	Notice    string
	Steps     []formstep.Step
	SaveOffer *SaveOffer

	Kind  string // form, message, ending, resume or canvas
	Nonce string
	Brand struct{ Text, URL string }

	Title, Text string        // For a message.
	Lost        template.HTML // An insert, like Inputs, Problems and Fields.
	LostNames   string
	Action      string // The target of the resume button.

	LeadsTo template.URL  // The target of the ending's button.
	Share   string        // The URL to share.
	Ends    template.HTML // The endings of a canvas.

	Step        int    // Starts at 1.
	At          string // The ID of the step.
	First, Last bool

	Progress, Navigation, Multipart bool

	Reactive                 bool // Whether the form has rules, so that other blocks can appear while a respondent types.
	Native                   bool // Whether the script lets the browser submit the page.
	Inputs, Problems, Fields template.HTML
	Cut                      string // The notice about omitted fields.
	Next                     string

	redirects bool // Whether the page opens LeadsTo automatically.
	inserts   htmlwriter.Inserts
	policy    *policy.Policy
	referrer  string // If empty, the page has the default policy.

	ancestors []string // The additional origins that can show a canvas in a frame.
}

func (p *Page) newView(kind string) *view {
	v := &view{
		Page: p, Form: p.Form, Words: p.Words, Theme: p.Theme, Preview: p.Preview, Embedded: p.Embedded, Steps: p.Steps,
		Kind: kind, policy: new(policy.Policy),
	}
	p.Blocks, p.Settings = p.Form.Blocks, &p.Form.Settings
	if p.Settings.Branding {
		v.Brand = p.Site.Brand
	}
	if len(p.Lost) > 0 { // Text without a matching block.
		lost := htmlwriter.New(0)
		for _, one := range p.Lost {
			lost.Put("<div><dt>%v</dt><dd>%v</dd></div>", one.Block, one.Text)
		}
		v.Lost = v.inserts.Add(lost.TakeChunks())
	}
	return v
}

// send renders all templates before it sends anything, because an error must not leave half a page with status 200.
func (v *view) send(w http.ResponseWriter, status int) error {
	v.Theme.Allow(v.policy)
	v.Notice, v.SaveOffer = v.Page.Notice, v.Page.SaveOffer
	v.Nonce = rand.Text()
	body, err := v.inserts.Execute(templates, "body.html", v)
	if err != nil {
		return err
	}
	if layout := v.Site.Layout; layout != nil {
		var document bytes.Buffer
		if err := layout(&document, v.document(body)); err != nil {
			return err
		}
		v.sendHeader(w, status)
		_, _ = w.Write(document.Bytes()) // The respondent may have disconnected.
		return nil
	}
	v.sendHeader(w, status)
	// The default layout is written without a template, which would copy the page three times.
	out := htmlwriter.NewStream(w)
	out.WriteRaw("<!doctype html>\n<html lang=\"" + template.HTMLEscapeString(v.Words.Tag) + "\" dir=\"" + v.Words.Direction + "\">\n<head>\n" +
		"<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
	out.WriteEscaped(v.title())
	out.WriteRaw("</title>\n")
	v.head(out)
	out.WriteRaw("\n</head>\n<body>\n")
	out.WriteChunks(body)
	out.WriteRaw("\n</body>\n</html>\n")
	out.Close()
	return nil
}

func (v *view) document(body []htmlwriter.Chunk) Document {
	var content bytes.Buffer
	part := func(write func(*htmlwriter.Writer)) template.HTML {
		content.Reset()
		out := htmlwriter.NewStream(&content)
		write(out)
		out.Close()
		return template.HTML(content.String()) //nolint:gosec // made by our templates
	}
	return Document{
		Language: v.Words.Tag, Direction: v.Words.Direction, Title: v.title(), Nonce: v.Nonce, Form: *v.Form,
		Head: part(v.head), Body: part(func(out *htmlwriter.Writer) { out.WriteChunks(body) }),
	}
}

func (v *view) title() string {
	switch {
	case v.Kind == "message" && v.Form.Name != "":
		return v.Title + " – " + v.Form.Name
	case v.Kind == "message":
		return v.Title
	case v.Problems != "":
		return v.Words.Get("title.problem", "title", v.Form.Name)
	}
	return v.Form.Name
}

func (v *view) sendHeader(w http.ResponseWriter, status int) {
	h := w.Header()
	csp := v.policy.Header(v.Nonce, v.Site.FrameAncestors)
	switch {
	case v.Kind == "canvas":
		csp = policy.CanvasHeader(v.Nonce, v.ancestors)
	case v.Preview != nil: // Config.FrameAncestors does not apply to previews, which can show drafts.
		csp = v.policy.Header(v.Nonce, nil)
	}
	h.Set("Content-Security-Policy", csp)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if v.Kind == "form" && !v.Posted && v.Preview == nil {
		// If a respondent goes back, the browser shows this page with the same visit, so that the same answers create
		// only one submission. Opening the URL starts a new visit.
		h.Set("Cache-Control", "private, max-age=0, must-revalidate")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", cmp.Or(v.referrer, "strict-origin-when-cross-origin"))
	w.WriteHeader(status)
}

// head writes the content of the page's head. The response to a GET contains the style sheet, because another request
// takes seconds in a slow network. The response to a POST links to it, because the browser has probably cached it.
func (v *view) head(out *htmlwriter.Writer) {
	files := v.Up + static.Dir
	if v.Posted {
		out.WriteRaw(`<link rel="stylesheet" href="` + files + "/page.css?v=" + static.Version + "\">\n")
	} else {
		out.WriteRaw(`<style nonce="` + v.Nonce + `">`)
		out.WriteRaw(static.Style)
		out.WriteRaw("</style>\n")
	}
	out.WriteRaw(`<meta name="robots" content="noindex">`)
	if v.Theme.Dark {
		out.WriteRaw(`<meta name="color-scheme" content="light dark">`)
	}
	if v.redirects && !v.Framed { // Many pages forbid frames and would be blank.
		out.WriteRaw("\n<meta http-equiv=\"refresh\" content=\"0;url=")
		out.WriteEscaped(string(v.LeadsTo))
		out.WriteRaw(`">`)
	}
	out.WriteRaw("\n<style nonce=\"" + v.Nonce + `" data-theme>`)
	v.Theme.Style(out.WriteRaw)
	out.WriteRaw("</style>\n")
	switch v.Kind {
	case "message":
	case "canvas":
		out.WriteRaw(`<style nonce="` + v.Nonce + `">` + static.Canvas + "</style>")
	default:
		out.WriteRaw(`<script src="` + files + "/page.js?v=" + static.Version + "\" defer></script>")
	}
}
