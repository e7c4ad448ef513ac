package formpage

import (
	"bytes"
	"html/template"
	"net/http"
	"strings"
)

// render runs the templates and sends the page.
func (c *call) render(status int, view *pageView, policy *policy) {
	page, err := c.draw(view, policy)
	if err != nil {
		c.notRendered(err)
		return
	}
	c.send(status, page)
}

// draw runs the templates.
func (c *call) draw(view *pageView, policy *policy) (drawn, error) {
	view.Theme.allow(policy)
	title := view.Heading
	switch {
	case view.Kind == "message":
		title = view.Title
		if view.Heading != "" {
			title += " – " + view.Heading
		}
	case len(view.Problems) > 0:
		title = c.words.get("title_problem", "title", title)
	}
	var head, body strings.Builder
	if err := templates.ExecuteTemplate(&head, "head.html", view); err != nil {
		return drawn{}, err
	}
	if err := templates.ExecuteTemplate(&body, "body.html", view); err != nil {
		return drawn{}, err
	}
	return drawn{
		title: title, head: head.String(), body: body.String(), nonce: view.Nonce,
		policy: policy.header(view.Nonce, c.h.config.FrameAncestors, c.form.Settings.RedirectURL),
	}, nil
}

// send puts the layout around a page and sends it.
func (c *call) send(status int, page drawn) {
	var document bytes.Buffer
	document.Grow(len(page.head) + len(page.body) + 1024)
	err := c.h.config.Layout.Execute(&document, Document{
		Language: c.words.tag, Direction: c.words.direction, Title: page.title, Nonce: page.nonce, Form: c.form,
		Head: template.HTML(page.head), Body: template.HTML(page.body), //nolint:gosec // made by our templates
	})
	if err != nil {
		c.notRendered(err)
		return
	}
	c.w.Header().Set("Content-Security-Policy", page.policy)
	write(c.w, status, &document)
}

func (c *call) notRendered(err error) {
	c.h.logger.ErrorContext(c.r.Context(), "a page was not rendered", "form", c.form.ID, "error", err)
	http500(c.w)
}

// write sends a page. The template has run already: a fault in the middle of it must
// not leave half a page with status 200.
func write(w http.ResponseWriter, status int, page *bytes.Buffer) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "strict-origin-when-cross-origin")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the visitor may be gone
}

func http500(w http.ResponseWriter) {
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}

// drawn is a page as the templates made it, without the layout around it.
type drawn struct {
	title, head, body string
	policy            string // the Content-Security-Policy
	nonce             string // as it stands in head and policy
}
