package formpage

import (
	"bytes"
	"crypto/rand"
	"html/template"
	"net/http"

	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
)

// render runs the templates, puts the layout around what they write and sends the page. All
// of it is drawn before something is sent: a fault in the middle of a template must not
// leave half a page with status 200.
func (c *call) render(status int, view *pageView, policy *policy.Policy) {
	view.Theme.Allow(policy)
	view.Nonce = rand.Text()
	body, err := view.inserts.Execute(templates, "body.html", view)
	if layout := c.h.config.Layout; layout != nil && err == nil {
		var content, document bytes.Buffer
		out := pen.To(&content)
		c.head(out, view)
		out.Close()
		d := Document{
			Language: c.words.Tag, Direction: c.words.Direction, Title: view.title(), Nonce: view.Nonce, Form: c.form,
			Head: template.HTML(content.String()), //nolint:gosec // made by our templates
		}
		content.Reset()
		out = pen.To(&content)
		out.Pieces(body)
		out.Close()
		d.Body = template.HTML(content.String()) //nolint:gosec // made by our templates
		if err = layout.Execute(&document, d); err == nil {
			c.begin(status, view, policy)
			_, _ = c.w.Write(document.Bytes()) // the visitor may be gone
			return
		}
	}
	if err != nil {
		c.h.logger.ErrorContext(c.r.Context(), "a page was not rendered", "form", c.form.ID, "error", err)
		http500(c.w)
		return
	}
	c.begin(status, view, policy)
	// The layout of a host that gives none is written without a template, which would copy
	// the page three times.
	out := pen.To(c.w)
	out.Raw("<!doctype html>\n<html lang=\"" + template.HTMLEscapeString(c.words.Tag) + "\" dir=\"" + c.words.Direction + "\">\n<head>\n" +
		"<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
	out.Typed(view.title())
	out.Raw("</title>\n")
	c.head(out, view)
	out.Raw("\n</head>\n<body>\n")
	out.Pieces(body)
	out.Raw("\n</body>\n</html>\n")
	out.Close()
	pen.Release(body)
}

// title is what the browser shows as the page's name.
func (v *pageView) title() string {
	switch {
	case v.Kind == "message" && v.Heading != "":
		return v.Title + " – " + v.Heading
	case v.Kind == "message":
		return v.Title
	case v.Problems != "":
		return v.T("title_problem", "title", v.Heading)
	}
	return v.Heading
}

func (c *call) begin(status int, view *pageView, policy *policy.Policy) {
	h := c.w.Header()
	h.Set("Content-Security-Policy", policy.Header(view.Nonce, c.h.config.FrameAncestors))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	c.w.WriteHeader(status)
}

// head writes what the page has in its head. What is opened has the style within, so that it
// is painted without another request, which takes seconds where the network is slow. What
// answers a POST leads to the file: the script does not look there, and without it the
// browser keeps it.
func (c *call) head(out *pen.Pen, view *pageView) {
	files := c.up() + static.Dir
	if c.r.Method == http.MethodPost {
		out.Raw(`<link rel="stylesheet" href="` + files + "/page.css?v=" + static.Version + "\">\n")
	} else {
		out.Raw(`<style nonce="` + view.Nonce + `">`)
		out.Raw(static.Style)
		out.Raw("</style>\n")
	}
	out.Raw(`<meta name="robots" content="noindex">`)
	if view.Theme.Dark {
		out.Raw(`<meta name="color-scheme" content="light dark">`)
	}
	if view.LeadsTo != "" {
		out.Raw("\n<meta http-equiv=\"refresh\" content=\"0;url=")
		out.Typed(string(view.LeadsTo))
		out.Raw(`">`)
	}
	out.Raw("\n<style nonce=\"" + view.Nonce + `" data-theme>`)
	view.Theme.Style(out.Raw)
	out.Raw("</style>\n")
	if view.Kind != "message" {
		out.Raw(`<script src="` + files + "/page.js?v=" + static.Version + "\" defer></script>")
	}
}

func http500(w http.ResponseWriter) {
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}
