package formpage

import (
	"bytes"
	"crypto/rand"
	"html/template"
	"net/http"
)

// render runs the templates, puts the layout around what they write and sends the page. All
// of it is drawn before something is sent: a fault in the middle of a template must not
// leave half a page with status 200.
func (c *call) render(status int, view *pageView, policy *policy) {
	view.Theme.allow(policy)
	view.Nonce = newNonce()
	p := pen{inserts: view.inserts}
	err := templates.ExecuteTemplate(&p, "body.html", view)
	body := p.end()
	out := outs.Get().(*pen)
	defer outs.Put(out)
	out.out = c.w
	if layout := c.h.config.Layout; layout != nil && err == nil {
		var content, document bytes.Buffer
		out.out = &content
		c.head(out, view)
		out.flush()
		d := Document{
			Language: c.words.Tag, Direction: c.words.Direction, Title: view.title(), Nonce: view.Nonce, Form: c.form,
			Head: template.HTML(content.String()), //nolint:gosec // made by our templates
		}
		content.Reset()
		out.pieces(body)
		out.flush()
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
	out.raw("<!doctype html>\n<html lang=\"" + template.HTMLEscapeString(c.words.Tag) + "\" dir=\"" + c.words.Direction + "\">\n<head>\n" +
		"<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
	out.typed(view.title())
	out.raw("</title>\n")
	c.head(out, view)
	out.raw("\n</head>\n<body>\n")
	out.pieces(body)
	out.raw("\n</body>\n</html>\n")
	out.flush()
	release(body)
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

func (c *call) begin(status int, view *pageView, policy *policy) {
	h := c.w.Header()
	h.Set("Content-Security-Policy", policy.header(view.Nonce, c.h.config.FrameAncestors))
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
func (c *call) head(out *pen, view *pageView) {
	files := c.up() + assetDir
	if c.r.Method == http.MethodPost {
		out.raw(`<link rel="stylesheet" href="` + files + "/page.css?v=" + assetVersion + "\">\n")
	} else {
		out.raw(`<style nonce="` + view.Nonce + `">`)
		out.raw(pageStyle)
		out.raw("</style>\n")
	}
	out.raw(`<meta name="robots" content="noindex">`)
	if view.Theme.Dark {
		out.raw(`<meta name="color-scheme" content="light dark">`)
	}
	if view.LeadsTo != "" {
		out.raw("\n<meta http-equiv=\"refresh\" content=\"0;url=")
		out.typed(string(view.LeadsTo))
		out.raw(`">`)
	}
	out.raw("\n<style nonce=\"" + view.Nonce + `" data-theme>`)
	view.Theme.style(out)
	out.raw("</style>\n")
	if view.Kind != "message" {
		out.raw(`<script src="` + files + "/page.js?v=" + assetVersion + "\" defer></script>")
	}
}

var pageStyle = string(assets["page.css"].content)

// newNonce is what one page allows its own elements by.
func newNonce() string { return rand.Text() }

func http500(w http.ResponseWriter) {
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}
