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
	"github.com/formsvc/formsvc/internal/calendar"
	"github.com/formsvc/formsvc/internal/download"
	"github.com/formsvc/formsvc/schema"
)

const (
	maxCountedForms = 100 // forms per counts request
	maxPageSize     = 100 // submissions or partial submissions per response
	summaryTexts    = 10  // newest texts per block in a summary
	textsPageSize   = 50  // texts per response
	summaryTimeout  = 150 * time.Millisecond
)

// resultRoutes returns the endpoints for results that the API lacks.
//
//	POST   /workspaces/{workspace}/counts  {"forms": ["{id}", …]} → {"{id}": {"responses": 12, "unpublished": true}}:
//	                                       the number of submissions, and whether there is a working copy, for
//	                                       at most 100 forms. It omits forms that the user cannot see.
//	GET    /times                          {since, until}: the start and end of the time range
//	GET    /forms/{form}/submissions       ?cursor&limit: a submissionsPage of the submissions that where and text select.
//	                                       The handler reads for a limited time, so that a page can be empty.
//	GET    /forms/{form}/submissions/{submission}  a submission with its earlier states, newest first
//	POST   /forms/{form}/submissions/{submission}/edit  → {url}: a page on which the user can change the answers for an hour
//	GET /forms/{form}/summary a summaryResponse. The handler first counts new submissions for a limited time.
//	GET    /forms/{form}/texts             ?block&from_text → {items, more}: a block's newest texts
//	GET    /forms/{form}/export            the file of Client.Export, streamed: format (csv, ndjson),
//	                                       separator (comma, semicolon, tab), header (ids, labels), bom (true), changes (true)
//	GET    /forms/{form}/partials          ?cursor&limit: a page of partialItems, last saved first
//	DELETE /forms/{form}/partials/{id}     → {}
//
// The submissions, times, summary, texts and export endpoints accept a filter (where, which is JsonLogic, and text), and
// a time range: a period from the API's metrics (time), days in
// the service's time zone (from and to), or RFC 3339 times (since and until). The start and end are inclusive.
func (h *Handler) resultRoutes() []route {
	return []route{
		{"POST /workspaces/{workspace}/counts", formsRead, h.jsonHandler(h.countSubmissions)},
		{"GET /forms/{form}/summary", submissionsRead, h.limitReads(true, h.getSummary)},
		{"GET /forms/{form}/texts", submissionsRead, h.limitReads(true, h.listTexts)},
		{"GET /forms/{form}/submissions", submissionsRead, h.limitReads(false, h.findSubmissions)}, // a page without a filter is cheap
		{"GET /forms/{form}/submissions/{submission}", submissionsRead, h.jsonHandler(getSubmission)},
		{"POST /forms/{form}/submissions/{submission}/edit", submissionsChange, h.jsonHandler(h.createEditLink)},
		{"GET /times", noScopes, h.jsonHandler(h.getTimes)},
		{"GET /forms/{form}/partials", submissionsRead, h.jsonHandler(listPartials)},
		{"DELETE /forms/{form}/partials/{id}", submissionsWrite, h.jsonHandler(deletePartial)},
		{"GET /forms/{form}/export", submissionsRead, h.serveExport},
	}
}

func (h *Handler) serveExport(w http.ResponseWriter, r *http.Request) {
	if err := h.export(w, r); err != nil {
		h.handleError(w, r, err)
	}
}

func (h *Handler) countSubmissions(r *http.Request) (any, error) {
	var asked struct{ Forms []formsvc.ID }
	err := json.NewDecoder(io.LimitReader(r.Body, 8<<10)).Decode(&asked)
	if err != nil || len(asked.Forms) > maxCountedForms {
		return nil, &schema.Error{Violations: []schema.Violation{{Path: "/forms", Code: schema.CodeNotAllowed, Message: "must be a list of at most 100 IDs"}}}
	}
	if h.config.Scopes != nil { // the scopes are only for forms in this workspace
		if asked.Forms, err = formsIn(r, pathID(r, "workspace"), asked.Forms); err != nil {
			return nil, err
		}
	}
	totals, err := requestClient(r).SubmissionTotals(r.Context(), asked.Forms...)
	if err != nil {
		return nil, err
	}
	copied, err := requestClient(r).FormsWithWorkingCopy(r.Context(), asked.Forms...)
	if err != nil && !errors.Is(err, formsvc.ErrUnsupported) {
		return nil, err
	}
	type row struct {
		Responses   *int64 `json:"responses,omitempty"` // missing if the user may not know the number
		Unpublished bool   `json:"unpublished"`
	}
	rows := map[formsvc.ID]row{}
	granted := signedInUser(r).scopes
	counted := granted.missing(formsvc.ScopeAnalyticsRead) == "" || granted.missing(formsvc.ScopeSubmissionsRead) == ""
	for id, total := range totals {
		is := row{Unpublished: slices.Contains(copied, id)}
		if counted {
			is.Responses = &total
		}
		rows[id] = is
	}
	return rows, nil
}

// formsIn returns the forms that are in the workspace.
func formsIn(r *http.Request, workspace formsvc.ID, forms []formsvc.ID) (found []formsvc.ID, err error) {
	for form, err := range requestClient(r).Forms(r.Context(), formsvc.FormQuery{Workspace: workspace}) {
		if err != nil {
			return nil, err
		}
		if slices.Contains(forms, form.ID) {
			found = append(found, form.ID)
		}
		if len(found) == len(forms) {
			break
		}
	}
	return found, nil
}

// parseQuery parses the time range and the filter of a request.
func (h *Handler) parseQuery(q url.Values) (times formsvc.SubmissionQuery, err error) {
	if period := q.Get("time"); period != "" {
		if times, err = h.service.PeriodQuery(formsvc.Period(period)); err != nil {
			return times, err
		}
	}
	var invalid schema.Error
	read := func(name, layout, example string) (at time.Time, ok bool) {
		text := q.Get(name)
		at, err := time.Parse(layout, text)
		if err != nil && text != "" {
			invalid.Violations = append(invalid.Violations, schema.Violation{Path: "/" + name, Code: schema.CodeBadFormat, Message: "must have the format " + example})
		}
		return at, err == nil
	}
	zone := h.service.TimeZone()
	if day, ok := read("from", time.DateOnly, "2026-11-20"); ok {
		times.Since = calendar.StartOfDay(day, zone)
	}
	if day, ok := read("to", time.DateOnly, "2026-11-20"); ok {
		times.Until = calendar.StartOfDay(day.AddDate(0, 0, 1), zone).Add(-time.Microsecond)
	}
	if at, ok := read("since", time.RFC3339, "2026-11-20T08:33:01Z"); ok {
		times.Since = at
	}
	if at, ok := read("until", time.RFC3339, "2026-11-20T08:33:01Z"); ok {
		times.Until = at
	}
	times.Text = q.Get("text")
	if where := q.Get("where"); where != "" {
		if err := json.Unmarshal([]byte(where), &times.Where); err != nil {
			invalid.Violations = append(invalid.Violations, schema.Violation{Path: "/where", Code: schema.CodeBadFormat, Message: "must be JsonLogic"})
		}
	}
	if invalid.Violations != nil {
		return times, &invalid
	}
	return times, nil
}

// submissionsPage is a part of a filtered list. Cursor is empty at its end.
type submissionsPage struct {
	Items  []submissionItem `json:"items"`
	Read   int64            `json:"read"` // how many submissions were read
	Cursor string           `json:"cursor"`
}

// submissionItem is a submission in the format of the API.
type submissionItem struct {
	ID             formsvc.ID      `json:"id"`
	SubmittedAt    time.Time       `json:"submitted_at"`
	Metadata       json.RawMessage `json:"metadata"`
	Answers        json.RawMessage `json:"answers"`
	CompletionTime float64         `json:"completion_time"`
	ChangedAt      time.Time       `json:"changed_at,omitzero"`
}

func newSubmissionItem(s formsvc.Submission) submissionItem {
	return submissionItem{s.ID, s.SubmittedAt, s.Metadata, s.Answers, s.CompletionTime, s.ChangedAt}
}

// submissionState is an earlier state of a submission, and the change that replaced it.
type submissionState struct {
	Answers    json.RawMessage `json:"answers"`
	ReplacedAt time.Time       `json:"replaced_at"`
	ReplacedBy formsvc.ID      `json:"replaced_by"` // the zero ID for the host
	Respondent bool            `json:"by_respondent"`
}

func getSubmission(r *http.Request) (any, error) {
	client, form, id := requestClient(r), pathID(r, "form"), pathID(r, "submission")
	s, err := client.Submission(r.Context(), form, id)
	if err != nil {
		return nil, err
	}
	details := struct {
		submissionItem
		Changes int64             `json:"changes"` // can be more than History contains
		History []submissionState `json:"history"` // null if the storage cannot change submissions
	}{newSubmissionItem(s), s.Revision - 1, nil}
	states, err := client.SubmissionHistory(r.Context(), form, id)
	if errors.Is(err, formsvc.ErrUnsupported) {
		return details, nil
	}
	details.History = []submissionState{}
	for _, state := range states {
		if state.Revision < s.Revision { // omits a change made after s was read
			details.History = append(details.History, submissionState{state.Answers, state.ReplacedAt, state.ReplacedBy, state.ReplacedByRespondent})
		}
	}
	return details, err
}

func (h *Handler) createEditLink(r *http.Request) (any, error) {
	form := pathID(r, "form")
	s, err := requestClient(r).Submission(r.Context(), form, pathID(r, "submission"))
	if err != nil {
		return nil, err
	}
	path, err := h.config.Pages.EditPathFor(signedInUser(r).user, form, s.ID, time.Now().Add(time.Hour))
	return map[string]string{"url": h.config.PublicURL + path}, err
}

// limitReads reserves a slot for a summary, and for any read with a filter.
func (h *Handler) limitReads(isSummary bool, do func(*http.Request) (any, error)) http.HandlerFunc {
	plain := h.jsonHandler(do)
	summary := h.withSlot(summaries, plain)
	if isSummary {
		plain = summary
	}
	withFilter := h.withSlot(filtered, summary)
	return func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("where") != "" || q.Get("text") != "" {
			withFilter(w, r)
			return
		}
		plain(w, r)
	}
}

func (h *Handler) findSubmissions(r *http.Request) (any, error) {
	q := r.URL.Query()
	query, err := h.parseQuery(q)
	if err != nil {
		return nil, err
	}
	query.Limit, query.After = parseCursor(q)
	found, err := requestClient(r).SubmissionPage(r.Context(), pathID(r, "form"), query, summaryTimeout)
	if err != nil {
		return nil, err
	}
	page := submissionsPage{Items: []submissionItem{}, Read: found.Read, Cursor: formatCursor(found.Next)}
	for _, s := range found.Submissions {
		page.Items = append(page.Items, newSubmissionItem(s))
	}
	return page, nil
}

func (h *Handler) getTimes(r *http.Request) (any, error) {
	times, err := h.parseQuery(r.URL.Query())
	return struct {
		Since time.Time `json:"since,omitzero"`
		Until time.Time `json:"until,omitzero"`
	}{times.Since, times.Until}, err
}

// summaryResponse summarizes a form's results. Seconds is the median completion time of the newest 100 submissions. If
// Unfinished is true, older submissions have not been counted yet, and the next request continues the count.
type summaryResponse struct {
	Responses  int64         `json:"responses"`
	Read       int64         `json:"read"`
	Seconds    float64       `json:"seconds"`
	Unfinished bool          `json:"unfinished,omitempty"`
	Days       *table        `json:"days,omitempty"`     // submissions by day
	Outcomes   *table        `json:"outcomes,omitempty"` // submissions by ending, if the form has several
	Blocks     []blockResult `json:"blocks"`
}

type blockResult struct {
	ID         string      `json:"id"`
	Label      string      `json:"label"`
	Type       string      `json:"type"`
	Deleted    bool        `json:"gone,omitempty"`
	Answered   int64       `json:"answered"`
	Skipped    int64       `json:"skipped"`
	OtherTypes []typeCount `json:"other_types,omitempty"`
	Statistics []statistic `json:"figures,omitempty"`
	Tables     []table     `json:"tables"`
	Texts      []textCount `json:"texts,omitempty"`
	MoreTexts  bool        `json:"more_texts,omitempty"`
}

type typeCount struct {
	Type  string `json:"type"`
	Count int64  `json:"count"`
}

type textCount struct {
	Text       string     `json:"text"`
	Count      int64      `json:"count"`
	Submission formsvc.ID `json:"submission"`
}

func (h *Handler) getSummary(r *http.Request) (any, error) {
	client, id := requestClient(r), pathID(r, "form")
	times, err := h.parseQuery(r.URL.Query())
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
	found, err := client.SummaryWithin(r.Context(), id, times, summaryTimeout)
	if err != nil {
		return nil, err
	}
	scales := map[string][]float64{}
	collectScales(scales, blocks)
	tag := h.pageLanguage(r)
	renderer := newChartRenderer(tag, h.words[tag])
	out := summaryResponse{Responses: found.Submissions, Read: found.Read, Seconds: found.CompletionTime, Unfinished: found.Incomplete, Blocks: make([]blockResult, 0, len(found.Blocks))}
	if len(found.Days) > 0 {
		days := renderer.newDays(renderer.words["results.days"], found.Days)
		out.Days = &days
	}
	if len(found.Endings) > 1 {
		outcomes := renderer.newOutcomes(found.Endings)
		out.Outcomes = &outcomes
	}
	for i := range found.Blocks {
		b := &found.Blocks[i]
		made := blockResult{ID: b.ID, Label: b.Label, Type: b.Type, Deleted: b.Deleted, Answered: b.Answered, Skipped: b.Skipped}
		for _, other := range b.OtherTypes {
			made.OtherTypes = append(made.OtherTypes, typeCount(other))
		}
		made.Tables, made.Statistics = renderer.renderBlock(b, scales[b.ID])
		made.Texts, made.MoreTexts = pageOfTexts(b, 0, summaryTexts)
		out.Blocks = append(out.Blocks, made)
	}
	return out, nil
}

func (h *Handler) listTexts(r *http.Request) (any, error) {
	q := r.URL.Query()
	times, err := h.parseQuery(q)
	if err != nil {
		return nil, err
	}
	found, err := requestClient(r).SummaryWithin(r.Context(), pathID(r, "form"), times, summaryTimeout)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(found.Blocks, func(b formsvc.BlockSummary) bool { return b.ID == q.Get("block") })
	if at < 0 {
		return nil, formsvc.ErrNotFound
	}
	from, _ := strconv.Atoi(q.Get("from_text")) // if invalid, start at the beginning
	items, more := pageOfTexts(&found.Blocks[at], max(from, 0), textsPageSize)
	return map[string]any{"items": items, "more": more}, nil
}

func pageOfTexts(b *formsvc.BlockSummary, from, most int) (page []textCount, more bool) {
	rest := b.Texts[min(from, len(b.Texts)):]
	for _, t := range rest[:min(most, len(rest))] {
		page = append(page, textCount(t))
	}
	return page, len(rest) > most
}

func collectScales(scales map[string][]float64, blocks []schema.Block) {
	for i := range blocks {
		scales[blocks[i].ID] = scaleValues(&blocks[i])
		collectScales(scales, blocks[i].Children)
	}
}

var (
	exportTypes = map[formsvc.ExportFormat]string{formsvc.CSV: "text/csv; charset=utf-8; header=present", formsvc.NDJSON: "application/x-ndjson"}
	separators  = map[string]rune{"semicolon": ';', "tab": '\t'}
)

func (h *Handler) export(w http.ResponseWriter, r *http.Request) error {
	user := requestClient(r)
	end, ok := h.acquireSlot(w, r, signedInUser(r).user, exports)
	if !ok {
		return nil
	}
	defer end()
	q := r.URL.Query()
	times, err := h.parseQuery(q)
	if err != nil {
		return err
	}
	if !r.ProtoAtLeast(1, 1) { // HTTP/1.0 cannot signal that a file is truncated
		writeError(w, http.StatusHTTPVersionNotSupported, "HTTP_VERSION_NOT_SUPPORTED", "Exports need HTTP/1.1 or newer. If you use a proxy, set its HTTP version.")
		return nil
	}
	form, err := user.Form(r.Context(), pathID(r, "form"))
	if err != nil {
		return err
	}
	e := formsvc.Export{
		Format: cmp.Or(formsvc.ExportFormat(q.Get("format")), formsvc.CSV),
		Since:  times.Since, Until: times.Until, Where: times.Where, Text: times.Text,
		Separator: separators[q.Get("separator")], Labels: q.Get("header") == "labels", BOM: q.Get("bom") == "true",
		Changes: q.Get("changes") == "true",
	}
	e.History = e.Changes && e.Format == formsvc.NDJSON // CSV has no place for earlier answers
	begun := false
	file := download.File{ContentType: exportTypes[e.Format], WriteStatus: func(code int) {
		begun = true
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": safeFileName(form.Name) + "." + string(e.Format)}))
		w.WriteHeader(code)
	}}
	gone, err := file.Send(w, func(to io.Writer) error { return user.Export(r.Context(), to, form.ID, e) })
	if err == nil || !begun {
		return err
	}
	if !gone && r.Context().Err() == nil {
		h.config.Logger.LogAttrs(r.Context(), slog.LevelError, "export ended early", slog.Any("error", err))
	}
	download.Abort(w)
	return nil
}

// unsafeInFileName matches characters that have a special meaning in file paths on any operating system.
var unsafeInFileName = regexp.MustCompile(`[/\\:*?"<>|%]+`)

func safeFileName(name string) string {
	return cmp.Or(strings.Trim(truncate(unsafeInFileName.ReplaceAllString(name, "-"), 60), " .-"), "responses")
}

// partialItem is a partial submission. Answers and the fields after it are set only if Shared is true, which means that
// the page told the respondent that the form's users can read them.
type partialItem struct {
	ID        string          `json:"id"`
	CreatedAt time.Time       `json:"created_at"`
	SavedAt   time.Time       `json:"saved_at"`
	EndsAt    time.Time       `json:"ends_at"`
	Shared    bool            `json:"shared"`
	Answers   json.RawMessage `json:"answers,omitempty"` // by block ID
	Hidden    json.RawMessage `json:"hidden,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Block     string          `json:"block,omitempty"` // the last block that the respondent reached
	Seconds   float64         `json:"seconds,omitempty"`
}

func listPartials(r *http.Request) (any, error) {
	limit, after := parseCursor(r.URL.Query())
	query := formsvc.Query{Limit: limit + 1, After: after} // the extra item shows whether there is a next page
	return readPage(requestClient(r).Partials(r.Context(), pathID(r, "form"), query), limit,
		func(formsvc.Partial) bool { return false },
		func(p formsvc.Partial) partialItem {
			return partialItem{p.ID.String(), p.CreatedAt, p.SavedAt, p.EndsAt, p.Shared, p.Answers, p.Hidden, p.Metadata, p.Block, p.Seconds}
		},
		func(p formsvc.Partial) string { return formatCursor(&formsvc.Position{Time: p.SavedAt, ID: p.ID}) })
}

// parseCursor parses the limit and the position of a page. If they are invalid, it uses the default and the beginning.
func parseCursor(q url.Values) (limit int, after *formsvc.Position) {
	limit, _ = strconv.Atoi(q.Get("limit"))
	at, id, _ := strings.Cut(q.Get("cursor"), ".")
	last, err := strconv.ParseInt(at, 10, 64)
	if record, bad := formsvc.ParseID(id); err == nil && bad == nil {
		after = &formsvc.Position{Time: time.Unix(0, last), ID: record}
	}
	return min(max(cmp.Or(limit, maxPageSize), 1), maxPageSize), after
}

func formatCursor(p *formsvc.Position) string {
	if p == nil {
		return ""
	}
	return strconv.FormatInt(p.Time.UnixNano(), 10) + "." + p.ID.String()
}

func deletePartial(r *http.Request) (any, error) {
	return empty{}, requestClient(r).DeletePartial(r.Context(), pathID(r, "form"), pathID(r, "id"))
}
