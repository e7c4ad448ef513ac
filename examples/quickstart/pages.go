package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
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

// home says what can be tried and shows what arrives. A real host asks who is there
// before it shows a key and responses; this one listens on the loopback interface.
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
	Funnel      formsvc.Counters
	Completion  string
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

// activity reads the storage as the host, who sees everything. The same figures are
// to be had from the API with a key.
func (h *host) activity(r *http.Request) (a activity, err error) {
	midnight := time.Now().UTC().Truncate(24 * time.Hour)
	funnel, err := h.store.Funnel(r.Context(), storage.AsHost(), h.demo.FormID, storage.Window{From: midnight.AddDate(0, 0, -29)})
	if err != nil {
		return a, err
	}
	a.Funnel = formsvc.Counters(funnel.Counts)
	a.Completion = "–"
	if funnel.Starts > 0 {
		a.Completion = fmt.Sprintf("%.0f %%", 100*float64(funnel.Submissions)/float64(funnel.Starts))
	}
	stored, err := storage.ListSubmissions(r.Context(), h.store, storage.AsHost(), h.demo.FormID,
		storage.SubmissionQuery{Page: storage.Page{Limit: 8}})
	if err != nil {
		return a, err
	}
	for _, s := range stored.Submissions {
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
	var answers []struct {
		Field struct {
			Type  string `json:"type"`
			Label string `json:"label"`
		} `json:"field"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(s.Answers, &answers); err != nil {
		return v, err
	}
	for _, a := range answers {
		text := answerText(a.Value)
		v.Answers = append(v.Answers, answerView{a.Field.Label, text})
		switch a.Field.Type {
		case schema.TypeShortText:
			v.Name = text
		case schema.TypeLongText:
			v.Quote = text
		case schema.TypeRating:
			v.Rating, _ = strconv.Atoi(text) // it was checked when it was stored
			for i := range 5 {
				v.Stars = append(v.Stars, i < v.Rating)
			}
		}
	}
	return v, nil
}

// answerText shows an answer of any type: text, numbers, choices and lists of them.
func answerText(raw json.RawMessage) string {
	var (
		text   string
		yes    bool
		choice struct{ Label, Other string }
		list   []json.RawMessage
	)
	switch {
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &yes) == nil:
		return map[bool]string{true: "Yes", false: "No"}[yes]
	case json.Unmarshal(raw, &list) == nil:
		var parts []string
		for _, item := range list {
			parts = append(parts, answerText(item))
		}
		return strings.Join(parts, ", ")
	case json.Unmarshal(raw, &choice) == nil && choice.Label+choice.Other != "":
		return choice.Label + choice.Other
	}
	return string(raw)
}
