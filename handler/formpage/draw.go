package formpage

import (
	"bytes"
	"crypto/rand"
	"html/template"
	"net/http"
	"slices"
	"strings"
)

// render runs the templates and sends the page.
func (c *call) render(status int, view *pageView, policy *policy) {
	page, err := c.draw(view, policy)
	if err != nil {
		c.notRendered(err)
		return
	}
	c.send(status, page, nil)
}

// drawn is a page as the templates made it, without the layout around it, cut where
// something of one visit belongs.
type drawn struct {
	title  string
	head   []string // what stands between the nonces
	policy []string // the same of the Content-Security-Policy
	body   []piece
	before int // how many of the pieces stand before the hidden inputs
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
	case view.Problems != "":
		title = c.words.get("title_problem", "title", title)
	}
	// Where to cut is marked with what nobody can guess, so nothing else of the page is
	// equal to it.
	view.Nonce, view.Inputs = newNonce(), view.insert(nil)
	var head strings.Builder
	if err := templates.ExecuteTemplate(&head, "head.html", view); err != nil {
		return drawn{}, err
	}
	body := pen{inserts: view.inserts, inputs: string(view.Inputs)}
	if err := templates.ExecuteTemplate(&body, "body.html", view); err != nil {
		return drawn{}, err
	}
	page := drawn{
		title: title, head: strings.Split(head.String(), view.Nonce),
		policy: strings.Split(policy.header(view.Nonce, c.h.config.FrameAncestors), view.Nonce),
	}
	page.body, page.before = body.end(), body.before
	return page, nil
}

// size is how many bytes a page takes.
func (d *drawn) size() int {
	n := len(d.title)
	for _, piece := range d.body {
		n += len(piece.html)
	}
	for _, part := range slices.Concat(d.head, d.policy) {
		n += len(part)
	}
	return n
}

// send completes a page for one visit, puts the layout around it and sends it.
func (c *call) send(status int, page drawn, inputs []input) {
	nonce := newNonce()
	if c.h.config.Layout == nil {
		c.begin(status, page, nonce)
		out := &pen{out: c.w}
		c.plainLayout(out, page, nonce, inputs)
		out.flush()
		return
	}
	var document, body bytes.Buffer
	out := &pen{out: &body}
	page.writeBody(out, inputs)
	out.flush()
	err := c.h.config.Layout.Execute(&document, Document{
		Language: c.words.tag, Direction: c.words.direction, Title: page.title, Nonce: nonce, Form: c.form,
		Head: template.HTML(c.sheet(nonce) + strings.Join(page.head, nonce)), //nolint:gosec // made by our templates
		Body: template.HTML(body.String()),                                   //nolint:gosec // made by our templates, inputs are escaped
	})
	if err != nil {
		c.notRendered(err)
		return
	}
	c.begin(status, page, nonce)
	_, _ = c.w.Write(document.Bytes()) // the visitor may be gone
}

// begin sends the head of the response. The templates have run already: a fault in the
// middle of one must not leave half a page with status 200.
func (c *call) begin(status int, page drawn, nonce string) {
	h := c.w.Header()
	h.Set("Content-Security-Policy", strings.Join(page.policy, nonce))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "strict-origin-when-cross-origin")
	c.w.WriteHeader(status)
}

// sheet is the pages' style. What is opened has it within, so that it is painted without
// another request, which takes seconds where the network is slow. What answers a POST leads
// to the file: the script does not look there, and without it the browser keeps it.
func (c *call) sheet(nonce string) string {
	if c.r.Method == http.MethodPost {
		return `<link rel="stylesheet" href="` + c.up() + assetDir + "/page.css?v=" + assetVersion + "\">\n"
	}
	return `<style nonce="` + nonce + `">` + string(assets["page.css"].content) + "</style>\n"
}

// plainLayout is the layout of a host that gives none. It is written without a template:
// that would copy the page three times.
func (c *call) plainLayout(out *pen, page drawn, nonce string, inputs []input) {
	out.raw("<!doctype html>\n<html lang=\"" + template.HTMLEscapeString(c.words.tag) + "\" dir=\"" + c.words.direction + "\">\n<head>\n" +
		"<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
	out.typed(page.title)
	out.raw("</title>\n" + c.sheet(nonce))
	for i, part := range page.head {
		if i > 0 {
			out.raw(nonce)
		}
		out.raw(part)
	}
	out.raw("\n</head>\n<body>\n")
	page.writeBody(out, inputs)
	out.raw("\n</body>\n</html>\n")
}

// writeBody writes the body with the hidden inputs of one visit.
func (d *drawn) writeBody(out *pen, inputs []input) {
	for _, piece := range d.body[:d.before] {
		out.piece(piece)
	}
	for _, in := range inputs {
		out.raw(`<input type="hidden" name="`)
		out.typed(in.Name)
		out.raw(`" value="`)
		out.typed(in.Value)
		out.raw(`">`)
	}
	for _, piece := range d.body[d.before:] {
		out.piece(piece)
	}
}

// newNonce is what one page allows its own elements by.
func newNonce() string { return rand.Text() }

func (c *call) notRendered(err error) {
	c.h.logger.ErrorContext(c.r.Context(), "a page was not rendered", "form", c.form.ID, "error", err)
	http500(c.w)
}

func http500(w http.ResponseWriter) {
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}
