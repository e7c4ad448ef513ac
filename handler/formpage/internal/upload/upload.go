// Package upload manages a page's files: their signed records and their storage space.
package upload

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/schema"
)

// A page's error codes for files.
const (
	CodeSize  = "FILE_SIZE"
	CodeEmpty = "FILE_EMPTY"
	CodeType  = "FILE_TYPE"
	CodeCount = "FILE_COUNT"
	CodeLost  = "FILE_LOST"
	CodeTotal = "FILE_TOTAL" // The visit has reached its limit.
	CodeSpace = "FILE_SPACE" // The host's storage is full.
)

// Records signs and verifies the file records in a form's pages.
type Records struct {
	Signer  pagestate.Signer
	Purpose string // The tokens' purpose.
	Form    string
	Now     time.Time
}

// record is a file's signed record in a page. It is valid for one form and one block, for as long as the page can be
// submitted. After that, a store may delete the file if it was not submitted.
type record struct {
	Form   string      `json:"o"`
	Block  string      `json:"b"`
	Stored int64       `json:"t"` // Unix milliseconds.
	File   schema.File `json:"f"`
}

// Sign returns a signed record for a stored file in a block.
func (r Records) Sign(block string, file schema.File) string {
	return r.Signer.Sign(r.Purpose, record{r.Form, block, r.Now.UnixMilli(), file})
}

// File is a stored file and its signed record.
type File struct {
	Token, Input string
	schema.File
}

// Files holds a page's files by block.
type Files map[string][]File

// Open verifies a page's file records. It omits files that the respondent has removed, and reports whether the
// respondent removed any. It rejects a record if it is too old to be submitted or was signed with another secret. The
// respondent then has to upload the file again.
func (r Records) Open(values url.Values) (files Files, refused []schema.Violation, takenBack bool) {
	files = Files{}
	for name, tokens := range values {
		block, ok := strings.CutPrefix(name, input.File)
		if !ok {
			continue
		}
		var kept []string
		for _, token := range tokens {
			var s record
			good := r.Signer.OpenToken(r.Purpose, token, &s) && s.Form == r.Form && s.Block == block
			switch {
			case !good:
				refused = append(refused, schema.Violation{Field: block, Code: CodeLost})
			case slices.Contains(values[input.Remove+block], s.File.ID):
			case r.Now.Sub(time.UnixMilli(s.Stored)) >= pagestate.MaxAge:
				refused = append(refused, schema.Violation{Field: block, Code: CodeLost, Params: map[string]any{"name": s.File.Name}})
			default:
				kept = append(kept, token)
				files[block] = append(files[block], File{Token: token, Input: name, File: s.File})
			}
		}
		values[name] = kept
	}
	for name := range values {
		if strings.HasPrefix(name, input.Remove) {
			takenBack = true
			delete(values, name)
		}
	}
	return files, refused, takenBack
}

// ForBlock returns a block's files, but no more than a submission can contain.
func (f Files) ForBlock(b *schema.Block) (list []schema.File) {
	most := formblock.MaxFiles
	if b.Type == schema.TypeSignature {
		most = 1
	}
	for _, file := range f[b.ID] {
		list = append(list, file.File)
	}
	return list[:min(len(list), most)]
}

// Answers returns the answers to the form's file blocks.
func (f Files) Answers(form *formblock.Index) map[string]json.RawMessage {
	answers := map[string]json.RawMessage{}
	for block := range f {
		b := form.Find(block)
		if b == nil || !formblock.TakesFile(b) {
			continue
		}
		files := f.ForBlock(b)
		var value any = files
		if b.Type == schema.TypeSignature {
			value = files[0]
		}
		if raw, err := json.Marshal(value); err == nil { // Strings and numbers can always be encoded.
			answers[block] = raw
		}
	}
	return answers
}

// UnmatchedFiles returns the uploaded files whose blocks no longer accept files.
func (f Files) UnmatchedFiles(takes func(block string) *schema.Block) (list []formdata.UnmatchedInput) {
	for _, block := range slices.Sorted(maps.Keys(f)) {
		if takes(block) != nil {
			continue
		}
		for _, file := range f[block] {
			list = append(list, formdata.UnmatchedInput{Block: block, Text: file.Name})
		}
	}
	return list
}

// FileNames returns the names of the files, including rejected ones.
func (f Files) FileNames(refused []schema.Violation) (list []string) {
	for _, files := range f {
		for _, file := range files {
			list = append(list, file.Name)
		}
	}
	for _, v := range refused {
		if name, ok := v.Params["name"].(string); ok {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// FileCost is the storage space taken up by a file's record and its last, partly filled disk block, in bytes.
const FileCost = 4096

// MeteredReader reads a file and counts its bytes against a limit that concurrent uploads share.
type MeteredReader struct {
	r        io.Reader
	used     *atomic.Int64
	limit    int64 // A negative value means no limit.
	limitErr error // The error to return when the limit is exceeded.
	taken    int64
	err      error // r's latest error.
}

// NewMeteredReader returns a reader that adds the file's size to used. Reads fail with full once used exceeds most
// bytes.
func NewMeteredReader(r io.Reader, used *atomic.Int64, most int64, full error) *MeteredReader {
	used.Add(FileCost)
	return &MeteredReader{r: r, used: used, limit: most, limitErr: full, taken: FileCost}
}

func (m *MeteredReader) Read(p []byte) (n int, err error) {
	n, m.err = m.r.Read(p)
	m.taken += int64(n)
	if m.used.Add(int64(n)) > m.limit && m.limit >= 0 {
		return 0, m.limitErr
	}
	return n, m.err
}

// Release subtracts the size of a file that was not stored.
func (m *MeteredReader) Release() { m.used.Add(-m.taken) }

// Interrupted reports whether reading failed before the end because the respondent disconnected.
func (m *MeteredReader) Interrupted() bool { return m.err != nil && !errors.Is(m.err, io.EOF) }
