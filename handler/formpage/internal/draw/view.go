package draw

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"embed"
	"html/template"
	"net/http"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/handler/formpage/internal/theme"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
)

//go:embed templates
var templateFiles embed.FS

// html/template escapes for the place where a value stands, so labels and answers
// that hold markup do no harm.
var templates = template.Must(template.New("").ParseFS(templateFiles, "templates/*.html"))

// view has the data that the templates draw.
type view struct {
	*Page
	// What the templates read of the page: reflection finds promoted fields slowly.
	Form      *formsvc.PublicForm
	Words     *words.Words
	Theme     *theme.Theme
	Preview   *Preview
	Embedded  bool
	Notice    string
	Steps     []walk.Step
	SaveOffer *SaveOffer

	Kind  string // form, message, ending, resume or canvas
	Nonce string
	Brand struct{ Text, URL string }

	Title, Text string        // of a message
	Lost        template.HTML // see pen.Inserts; so are Inputs, Problems and Fields
	LostNames   string
	Action      string // where the button of a link leads

	LeadsTo template.URL  // where the ending's button leads, and if redirects is set the page itself
	Share   string        // address to share
	Ends    template.HTML // the endings of a canvas

	Step        int    // from 1
	At          string // its id
	First, Last bool

	Progress, Navigation, Multipart bool

	Reactive                 bool // the form has rules: other blocks may be called for while typing
	Native                   bool // the script leaves sending to the browser
	Inputs, Problems, Fields template.HTML
	Cut                      string // the missing parts of the fields
	Next                     string

	redirects bool // the page leads on to LeadsTo by itself
	inserts   pen.Inserts
	policy    *policy.Policy
	referrer  string // "": the usual policy

	ancestors []string // of a canvas: origins, in addition to its own, that may show it in a frame
}

// newView is a page as far as it does not depend on the blocks.
func (p *Page) newView(kind string) *view {
	v := &view{
		Page: p, Form: p.Form, Words: p.Words, Theme: p.Theme, Preview: p.Preview, Embedded: p.Embedded, Steps: p.Steps,
		Kind: kind, policy: new(policy.Policy),
	}
	p.Blocks, p.Settings = p.Form.Blocks, &p.Form.Settings
	if p.Settings.Branding {
		v.Brand = p.Site.Brand
	}
	if len(p.Lost) > 0 { // typed text that has no place
		lost := pen.New(0)
		for _, one := range p.Lost {
			lost.Put("<div><dt>%v</dt><dd>%v</dd></div>", one.Block, one.Text)
		}
		v.Lost = v.inserts.Add(lost.TakePieces())
	}
	return v
}

// send runs the templates, puts the layout around their output and sends the page. All of
// it is drawn before something is sent: a fault in the middle of a template must not
// leave half a page with status 200.
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
		_, _ = w.Write(document.Bytes()) // the visitor may be gone
		return nil
	}
	v.sendHeader(w, status)
	// The layout of a host that gives none is written without a template, which would copy
	// the page three times.
	out := pen.NewStream(w)
	out.Raw("<!doctype html>\n<html lang=\"" + template.HTMLEscapeString(v.Words.Tag) + "\" dir=\"" + v.Words.Direction + "\">\n<head>\n" +
		"<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
	out.Escaped(v.title())
	out.Raw("</title>\n")
	v.head(out)
	out.Raw("\n</head>\n<body>\n")
	out.WritePieces(body)
	out.Raw("\n</body>\n</html>\n")
	out.Close()
	return nil
}

// document is the page in parts, for a layout of the host.
func (v *view) document(body []pen.Piece) Document {
	var content bytes.Buffer
	part := func(write func(*pen.Pen)) template.HTML {
		content.Reset()
		out := pen.NewStream(&content)
		write(out)
		out.Close()
		return template.HTML(content.String()) //nolint:gosec // made by our templates
	}
	return Document{
		Language: v.Words.Tag, Direction: v.Words.Direction, Title: v.title(), Nonce: v.Nonce, Form: *v.Form,
		Head: part(v.head), Body: part(func(out *pen.Pen) { out.WritePieces(body) }),
	}
}

// title is the name of the page that the browser shows.
func (v *view) title() string {
	switch {
	case v.Kind == "message" && v.Form.Name != "":
		return v.Title + " – " + v.Form.Name
	case v.Kind == "message":
		return v.Title
	case v.Problems != "":
		return v.Words.Get("title_problem", "title", v.Form.Name)
	}
	return v.Form.Name
}

func (v *view) sendHeader(w http.ResponseWriter, status int) {
	h := w.Header()
	csp := v.policy.Header(v.Nonce, v.Site.FrameAncestors)
	switch {
	case v.Kind == "canvas":
		csp = policy.CanvasHeader(v.Nonce, v.ancestors)
	case v.Preview != nil: // of a draft, which the host's list was not made for
		csp = v.policy.Header(v.Nonce, nil)
	}
	h.Set("Content-Security-Policy", csp)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if v.Kind == "form" && !v.Posted && v.Preview == nil {
		// Going back shows this page with its visit again, so that the same answers are the same
		// response. Opening its address makes a new visit.
		h.Set("Cache-Control", "private, max-age=0, must-revalidate")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", cmp.Or(v.referrer, "strict-origin-when-cross-origin"))
	w.WriteHeader(status)
}

// head writes the content of the page's head. What is opened has the style within, so that
// it is painted without another request, which takes seconds where the network is slow. What
// answers a POST leads to the file: the script does not look there, and without it the
// browser keeps it.
func (v *view) head(out *pen.Pen) {
	files := v.Up + static.Dir
	if v.Posted {
		out.Raw(`<link rel="stylesheet" href="` + files + "/page.css?v=" + static.Version + "\">\n")
	} else {
		out.Raw(`<style nonce="` + v.Nonce + `">`)
		out.Raw(static.Style)
		out.Raw("</style>\n")
	}
	out.Raw(`<meta name="robots" content="noindex">`)
	if v.Theme.Dark {
		out.Raw(`<meta name="color-scheme" content="light dark">`)
	}
	if v.redirects && !v.Framed { // many pages forbid frames, and would be blank in one
		out.Raw("\n<meta http-equiv=\"refresh\" content=\"0;url=")
		out.Escaped(string(v.LeadsTo))
		out.Raw(`">`)
	}
	out.Raw("\n<style nonce=\"" + v.Nonce + `" data-theme>`)
	v.Theme.Style(out.Raw)
	out.Raw("</style>\n")
	switch v.Kind {
	case "message":
	case "canvas":
		out.Raw(`<style nonce="` + v.Nonce + `">` + static.Canvas + "</style>")
	default:
		out.Raw(`<script src="` + files + "/page.js?v=" + static.Version + "\" defer></script>")
	}
}
