package builder

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/download"
	"github.com/formsvc/formsvc/schema"
)

const (
	maxCounted  = 100 // forms of one request for counts
	maxPartials = 100 // half responses of one answer
	maxRecent   = 100 // responses that the newest texts are of
	maxTexts    = 5   // newest texts of a block
	maxText     = 300 // characters of one
)

// resultDoors are what a form's results need beside the API, below the path of the door:
//
//	POST   /workspaces/{workspace}/counts  {"forms": ["{id}", …]} → {"{id}": 12}: the responses that ever came in to
//	                                       each of at most 100 forms; those that the user does not see are left
//	                                       out. It costs one look at each form's counters, not at its responses.
//	GET    /forms/{form}/summary           a summaryAnswer. It reads all responses of the time.
//	GET    /forms/{form}/export            the file of Client.Export, streamed: format (csv, ndjson),
//	                                       separator (comma, semicolon, tab), header (ids, labels), bom (true);
//	                                       429 for the third of a user at a time
//	GET    /forms/{form}/partials          ?cursor&limit: a page of partialItem, those first that were saved last
//	DELETE /forms/{form}/partials/{id}     → {}
//
// Summary and export take since and until, RFC 3339 times as the API does, both included.
// The responses themselves and the funnel are read by the API.
func (h *Handler) resultDoors(mux *http.ServeMux) {
	mux.HandleFunc("POST /workspaces/{workspace}/counts", h.does(counts))
	mux.HandleFunc("GET /forms/{form}/summary", h.bounded(summaries, h.does(h.summary)))
	mux.HandleFunc("GET /forms/{form}/partials", h.does(partials))
	mux.HandleFunc("DELETE /forms/{form}/partials/{id}", h.does(deletePartial))
	mux.HandleFunc("GET /forms/{form}/export", func(w http.ResponseWriter, r *http.Request) {
		if err := h.export(w, r); err != nil {
			h.fail(w, r, err)
		}
	})
}

func counts(r *http.Request) (any, error) {
	var asked struct{ Forms []formsvc.ID }
	if err := json.NewDecoder(io.LimitReader(r.Body, 8<<10)).Decode(&asked); err != nil || len(asked.Forms) > maxCounted {
		return nil, &schema.Error{Violations: []schema.Violation{{Path: "/forms", Code: schema.CodeNotAllowed, Message: "must be a list of at most 100 ids"}}}
	}
	counts := map[string]int64{}
	for _, id := range asked.Forms {
		m, err := clientOf(r).Metrics(r.Context(), id, formsvc.PeriodAll)
		if errors.Is(err, formsvc.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		counts[id.String()] = m.Submissions
	}
	return counts, nil
}

// timesOf reads since and until; the error lists what is none.
func timesOf(q url.Values) (formsvc.SubmissionQuery, error) {
	var faults schema.Error
	read := func(name string) time.Time {
		text := q.Get(name)
		at, err := time.Parse(time.RFC3339, text)
		if err != nil && text != "" {
			faults.Violations = append(faults.Violations, schema.Violation{Path: "/" + name, Code: schema.CodeBadFormat, Message: "must be a time such as 2026-11-20T08:33:01Z"})
		}
		return at
	}
	times := formsvc.SubmissionQuery{Since: read("since"), Until: read("until")}
	if faults.Violations != nil {
		return times, &faults
	}
	return times, nil
}

// summaryAnswer is a summary. Seconds is the median time that the newest 100 responses took.
type summaryAnswer struct {
	Responses int64         `json:"responses"`
	Seconds   float64       `json:"seconds"`
	Blocks    []blockResult `json:"blocks"`
}

type blockResult struct {
	ID       string   `json:"id"`
	Label    string   `json:"label"`
	Type     string   `json:"type"`
	Gone     bool     `json:"gone,omitempty"`
	Answered int64    `json:"answered"`
	Skipped  int64    `json:"skipped"`
	Figures  []figure `json:"figures,omitempty"`
	Tables   []table  `json:"tables"`
	SVG      string   `json:"svg"`              // escaped: may be put into the page
	Recent   []recent `json:"recent,omitempty"` // of texts
}

// recent is one of the newest answers, cut where it is long.
type recent struct {
	Submission string `json:"submission"`
	Text       string `json:"text"`
}

func (h *Handler) summary(r *http.Request) (any, error) {
	client, id := clientOf(r), idIn(r, "form")
	times, err := timesOf(r.URL.Query())
	if err != nil {
		return nil, err
	}
	form, err := client.Form(r.Context(), id)
	if err != nil {
		return nil, err
	}
	blocks, err := schema.DecodeBlocks(form.Blocks)
	if err != nil {
		return nil, err
	}
	found, err := client.Summary(r.Context(), id, times)
	if err != nil {
		return nil, err
	}
	scales := map[string][]float64{}
	addScales(scales, blocks)
	tag := h.language(r)
	artist := newArtist(tag, h.words[tag])
	out := summaryAnswer{Responses: found.Responses, Blocks: make([]blockResult, 0, len(found.Blocks))}
	at := map[string]int{}
	for i := range found.Blocks {
		b := &found.Blocks[i]
		made := blockResult{ID: b.ID, Label: b.Label, Type: b.Type, Gone: b.Gone, Answered: b.Answered, Skipped: b.Skipped}
		made.Tables, made.Figures, made.SVG = artist.chart(b, scales[b.ID])
		at[b.ID] = i
		out.Blocks = append(out.Blocks, made)
	}
	times.Limit = maxRecent
	var seconds []float64
	for s, err := range client.Submissions(r.Context(), id, times) {
		if err == nil {
			seconds = append(seconds, s.CompletionTime)
			err = addRecent(out.Blocks, at, s)
		}
		if err != nil {
			return nil, err
		}
	}
	if slices.Sort(seconds); len(seconds) > 0 {
		out.Seconds = seconds[len(seconds)/2]
	}
	return out, nil
}

func addScales(scales map[string][]float64, blocks []schema.Block) {
	for i := range blocks {
		scales[blocks[i].ID] = scaleOf(&blocks[i])
		addScales(scales, blocks[i].Children)
	}
}

// addRecent adds the answers of a response that no chart shows.
func addRecent(blocks []blockResult, at map[string]int, s formsvc.Submission) error {
	answers, err := formsvc.DecodeAnswers(s)
	if err != nil {
		return err
	}
	for _, a := range answers {
		text := a.String()
		switch v := a.Value.(type) {
		case schema.Picks: // the respondent's own words alone
			own := slices.IndexFunc(v, func(p schema.Pick) bool { return p.ID == "" })
			if own < 0 {
				continue
			}
			text = v[own].Other
		case schema.Text:
			if a.Type == schema.TypeCountry {
				continue
			}
		case schema.Contact, schema.Files, schema.Other:
		default:
			continue
		}
		i, known := at[a.ID] // not, for one that came in after the count
		if !known || len(blocks[i].Recent) == maxTexts {
			continue
		}
		blocks[i].Recent = append(blocks[i].Recent, recent{s.ID.String(), cut(text, maxText)})
	}
	return nil
}

var (
	exportTypes = map[formsvc.ExportFormat]string{formsvc.CSV: "text/csv; charset=utf-8; header=present", formsvc.NDJSON: "application/x-ndjson"}
	separators  = map[string]rune{"semicolon": ';', "tab": '\t'}
)

func (h *Handler) export(w http.ResponseWriter, r *http.Request) error {
	user := clientOf(r)
	end, ok := h.begin(w, r, user, exports)
	if !ok {
		return nil
	}
	defer end()
	q := r.URL.Query()
	times, err := timesOf(q)
	if err != nil {
		return err
	}
	if !r.ProtoAtLeast(1, 1) { // in which a file that was cut looks whole
		refuse(w, http.StatusHTTPVersionNotSupported, "HTTP_VERSION_NOT_SUPPORTED", "An export needs HTTP/1.1 or newer.")
		return nil
	}
	form, err := user.Form(r.Context(), idIn(r, "form"))
	if err != nil {
		return err
	}
	e := formsvc.Export{
		Format: cmp.Or(formsvc.ExportFormat(q.Get("format")), formsvc.CSV), Since: times.Since, Until: times.Until,
		Separator: separators[q.Get("separator")], Labels: q.Get("header") == "labels", BOM: q.Get("bom") == "true",
	}
	begun := false
	file := download.File{ContentType: exportTypes[e.Format], Status: func(code int) {
		begun = true
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(form.Name) + "." + string(e.Format)}))
		w.WriteHeader(code)
	}}
	gone, err := file.Send(w, func(to io.Writer) error { return user.Export(r.Context(), to, form.ID, e) })
	if err == nil || !begun {
		return err
	}
	if !gone && r.Context().Err() == nil {
		h.config.Logger.LogAttrs(r.Context(), slog.LevelError, "an export was cut", slog.Any("error", err))
	}
	download.Abort(w)
	return nil
}

// inPaths has a meaning in the paths of some system.
var inPaths = regexp.MustCompile(`[/\\:*?"<>|%]+`)

// fileName is a form's name as that of a file.
func fileName(name string) string {
	return cmp.Or(strings.Trim(cut(inPaths.ReplaceAllString(name, "-"), 60), " .-"), "responses")
}

// partialItem is a half response. Answers and what is below it are absent unless the respondent was
// told that the owners can read them (shared).
type partialItem struct {
	ID        string          `json:"id"`
	CreatedAt time.Time       `json:"created_at"`
	SavedAt   time.Time       `json:"saved_at"`
	EndsAt    time.Time       `json:"ends_at"`
	Shared    bool            `json:"shared"`
	Answers   json.RawMessage `json:"answers,omitempty"` // by block id, as they were sent
	Hidden    json.RawMessage `json:"hidden,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Block     string          `json:"block,omitempty"` // the farthest
	Seconds   float64         `json:"seconds,omitempty"`
}

func partials(r *http.Request) (any, error) {
	q := r.URL.Query()
	limit, _ := strconv.Atoi(q.Get("limit")) // what is no number is the default
	at, id, _ := strings.Cut(q.Get("cursor"), ".")
	limit = min(max(cmp.Or(limit, maxPartials), 1), maxPartials)
	query := formsvc.Query{Limit: limit + 1} // one more says whether there is a next page
	last, err := strconv.ParseInt(at, 10, 64)
	if after, bad := formsvc.ParseID(id); err == nil && bad == nil { // what is no cursor begins the list
		query.After = &formsvc.Position{Time: time.Unix(0, last), ID: after}
	}
	return pageOf(clientOf(r).Partials(r.Context(), idIn(r, "form"), query), limit,
		func(formsvc.Partial) bool { return false },
		func(p formsvc.Partial) partialItem {
			return partialItem{p.ID.String(), p.CreatedAt, p.SavedAt, p.EndsAt, p.Shared, p.Answers, p.Hidden, p.Metadata, p.Block, p.Seconds}
		},
		func(p formsvc.Partial) string {
			return strconv.FormatInt(p.SavedAt.UnixNano(), 10) + "." + p.ID.String()
		})
}

func deletePartial(r *http.Request) (any, error) {
	return none{}, clientOf(r).DeletePartial(r.Context(), idIn(r, "form"), idIn(r, "id"))
}
