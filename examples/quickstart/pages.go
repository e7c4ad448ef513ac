package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/memory"
)

//go:embed static
var assets embed.FS

//go:embed templates
var templateFiles embed.FS

// html/template escapes for the place where a value stands, so answers and labels
// that hold markup do no harm.
var pages = template.Must(template.New("").ParseFS(templateFiles, "templates/*.html"))

// render writes a page. The template runs into a buffer first: a fault in the middle
// of it must not leave half a page with status 200.
func render(w http.ResponseWriter, logger *slog.Logger, status int, name string, data any) {
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, name, data); err != nil {
		logger.Error("a page was not rendered", "page", name, "error", err)
		http.Error(w, "Something went wrong.", http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the reader may be gone; there is nobody to tell
}

// home shows the things to try and the responses that arrive. A real host asks who is
// there before it shows a key and responses; this one listens on the loopback
// interface.
func (h *host) home(w http.ResponseWriter, r *http.Request) {
	activity, err := h.activity(r)
	if err != nil {
		h.fail(w, err)
		return
	}
	_, inMemory := h.store.(*memory.Store)
	render(w, h.logger, http.StatusOK, "home.html", map[string]any{
		"URL": h.url, "Key": h.demo.Key, "Forms": h.demo.Forms, "Commands": h.commands(), "Activity": activity,
		"InMemory": inMemory,
	})
}

// live is the moving part of home. static/live.js asks for it again and again.
func (h *host) live(w http.ResponseWriter, r *http.Request) {
	activity, err := h.activity(r)
	if err != nil {
		h.fail(w, err)
		return
	}
	render(w, h.logger, http.StatusOK, "live.html", activity)
}

func (h *host) fail(w http.ResponseWriter, err error) {
	h.logger.Error("the storage did not answer", "error", err)
	http.Error(w, "Something went wrong.", http.StatusInternalServerError)
}

// activity is what happened on the demo form.
type activity struct {
	Metrics     formsvc.Metrics
	Submissions []submissionView
	Deliveries  []deliveryView
}

type submissionView struct {
	ID, At, Took string
	Name, Quote  string
	Rating       int
	Stars        []bool // filled or not
	Answers      []answerView
}

type answerView struct{ Label, Text string }

type deliveryView struct {
	delivery
	Time, JSON string
}

// activity asks as the host, who sees everything. The same is to be had from the API with
// a key.
func (h *host) activity(r *http.Request) (a activity, err error) {
	client := h.service.AsHost()
	if a.Metrics, err = client.Metrics(r.Context(), h.demo.FormID, "30d"); err != nil {
		return a, err
	}
	for s, err := range client.Submissions(r.Context(), h.demo.FormID, formsvc.SubmissionQuery{Limit: 8}) {
		if err != nil {
			return a, err
		}
		view, err := newSubmissionView(s)
		if err != nil {
			return a, err
		}
		a.Submissions = append(a.Submissions, view)
	}
	for i, d := range h.receiver.list() {
		if i == 8 {
			break
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, d.Body, "", "  "); err != nil {
			return a, err
		}
		a.Deliveries = append(a.Deliveries, deliveryView{d, d.At.Format("15:04:05"), indented.String()})
	}
	return a, nil
}

func newSubmissionView(s formsvc.Submission) (submissionView, error) {
	v := submissionView{
		ID:   s.ID.String(),
		At:   s.SubmittedAt.Local().Format("2 Jan, 15:04"),
		Took: (time.Duration(s.CompletionTime) * time.Second).String(),
		Name: "Somebody",
	}
	answers, err := formsvc.DecodeAnswers(s)
	if err != nil {
		return v, err
	}
	for _, a := range answers {
		text := a.Value.String()
		if yes, ok := a.Value.(schema.Bool); ok {
			text = map[schema.Bool]string{true: "Yes", false: "No"}[yes]
		}
		v.Answers = append(v.Answers, answerView{a.Label, text})
		switch a.Type {
		case schema.TypeShortText:
			v.Name = text
		case schema.TypeLongText:
			v.Quote = text
		case schema.TypeRating:
			stars, _ := a.Value.(schema.Number)
			v.Rating = int(stars)
			for i := range 5 {
				v.Stars = append(v.Stars, i < v.Rating)
			}
		}
	}
	return v, nil
}
