package formsvc

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/export"
	"github.com/formsvc/formsvc/storage"
)

// ExportFormat is how responses are written: [CSV], the string csv, or [NDJSON], ndjson.
type ExportFormat = export.Format

// The formats of an [Export].
const (
	CSV    = export.CSV
	NDJSON = export.NDJSON
)

// Export says how responses are exported. The zero value is a CSV of all of them.
//
// NDJSON has one response a line, exactly as the API lists it.
//
// CSV is as RFC 4180 has it, in UTF-8, with a header and one line a response. Every text
// is quoted; numbers, dates and ids are not. Its columns
// are submission_id and submitted_at; one for each block that answers, named by its id, in
// the order of the form; the hidden fields and variables; blocks that only responses
// have, because they are gone from the form; completion_time and metadata. A value with
// parts has a column for each, named id/part: the rows of a matrix by their ids, the
// parts of an address or contact, a file's name and url, a payment's amount, currency,
// status, gateway and reference. An unanswered block is an empty cell.
//
// A respondent's own text in a column by choice is in id/other. A choice whose id is
// "other" or begins with "choice:" has the column id/choice:other or the like. A file in
// a column of its own has id/1/name and id/1/url, the next one id/2/name. A name that is
// taken already, such as that of a block with the id submitted_at, gets " (2)", " (3)"
// and so on.
//
// A spreadsheet program takes a cell for a formula when it begins with =, +, -, @, a tab
// or a carriage return. Such a cell gets an apostrophe (') in front, and so does one with
// such a character after apostrophes: whoever removes one apostrophe from every cell that
// has = + - @ tab or CR after its apostrophes has the responses again. Answers of number,
// date and phone blocks are never changed.
//
// Programs that split at commas, semicolons and tabs alike, as LibreOffice does unless
// told otherwise, read the same cells. One that splits at semicolons or tabs but not at
// commas, as Excel does where the comma is the decimal sign, sees no cell's quotes at its
// start: it needs a file with that Separator, and neither columns nor apostrophes are
// right for it without.
type Export struct {
	Format ExportFormat // CSV (the default) or NDJSON
	// Since and Until bound SubmittedAt; both are included. Zero: no bound.
	Since, Until time.Time

	// The rest is about CSV alone.

	Separator rune // ',' (the default), ';' or a tab: what the program that reads the file splits at
	ChoiceIDs bool // choices as ids. Default: as the labels that they had when chosen
	// Spread: one column per choice (id/choice id, id/other) and per file (id/1/name)
	// where several may be given. A cell has the choice, in a ranking its place. Default:
	// one cell, the values separated by "; ". The rows of a matrix always have their own.
	Spread bool
	Labels bool // the header has the labels of blocks, followed by [id] where two are alike. Default: ids
	BOM    bool // begin with a byte order mark, by which some programs know UTF-8
	// KeepFormulas leaves out the apostrophe in front of what a program could take for a
	// formula.
	KeepFormulas bool
}

// Export writes the responses to a form, newest first. It holds a page of them in memory,
// at most 16 MiB, however many there are, and nothing of the storage while w takes a page.
// On a Service from Using, the host's transaction stays open meanwhile. A CSV reads all responses twice, because
// the first pass finds its columns; nothing is written before that.
//
// A response that comes in meanwhile may or may not be written. Without an error the
// stream is whole. A [*schema.Error] says what is wrong with e, or that a CSV would have
// more than 16,384 columns.
func (c Client) Export(ctx context.Context, w io.Writer, form ID, e Export) error {
	o := export.Options(e)
	if err := o.Check(); err != nil {
		return err
	}
	f, err := c.core().Storage.Form(ctx, c.who, form)
	if err != nil {
		return err
	}
	if err := core.CheckRange(o.Since, o.Until); err != nil {
		return err
	}
	return export.Write(ctx, w, f.Definition, o, func(ctx context.Context, q storage.SubmissionsParams) (storage.SubmissionPage, error) {
		return c.core().Submissions(ctx, c.who, form, q)
	})
}

// ExportHandler serves exports to the callers of the API. It is not an operation of it:
// the host mounts it where it likes,
//
//	mux.Handle("/exports/", svc.ExportHandler())
//
// and GET /exports/<form id>.csv or .ndjson is the export. The query has since and until
// as GET …/submissions does, and for CSV separator=semicolon or tab, choices=ids,
// several=spread, header=labels, bom=true and formulas=kept, which are the fields of
// [Export].
//
// Credentials, key resolver, errors and request ids are those of the API, and it takes
// the scope submissions:read. Every page of at most 1,000 responses that is read counts
// against the key's limit. An export leaves half of the key's calls for other requests and
// waits for new ones. A key has one export at a time in this process: a second one is
// RATE_LIMITED. Request.Pattern is that of the host's mux, with {form_id}.csv or .ndjson
// added where it ends in a slash.
//
// The first byte of a CSV comes after all responses were read once, and an export may
// also wait for calls of its key. A proxy in front must wait that long, such as nginx with
// proxy_read_timeout.
//
// A fault after the first byte aborts the connection, so that a cut file never looks
// whole; HTTP/1.0 cannot tell, and is refused with status 505. The server's WriteTimeout
// does not end an export: a client may take 30 seconds for each 64 kB.
func (s *Service) ExportHandler() http.Handler { return s.handler.Exports() }
