// Package upload manages the files of a page: the file records that the page contains, and the storage
// space of the files.
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
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/schema"
)

// The page's own codes for files.
const (
	CodeSize  = "FILE_SIZE"
	CodeEmpty = "FILE_EMPTY"
	CodeType  = "FILE_TYPE"
	CodeCount = "FILE_COUNT"
	CodeLost  = "FILE_LOST"
	CodeTotal = "FILE_TOTAL" // of the visit
	CodeSpace = "FILE_SPACE" // of the host's place
)

// Records signs and opens what pages of a form carry of files.
type Records struct {
	Signer  visit.Signer
	Purpose string // of the tokens
	Form    string
	Now     time.Time
}

// record is a file as the page carries it: signed, for one form and block, and as long as
// a page can be sent. A store that removes unsent files may remove a file after that
// time.
type record struct {
	Form   string      `json:"o"`
	Block  string      `json:"b"`
	Stored int64       `json:"t"` // Unix milliseconds
	File   schema.File `json:"f"`
}

// Sign makes the record of a file that was stored for a block.
func (r Records) Sign(block string, file schema.File) string {
	return r.Signer.Sign(r.Purpose, record{r.Form, block, r.Now.UnixMilli(), file})
}

// File is a stored file as the page carries and shows it.
type File struct {
	Token, Input string
	schema.File
}

// Files are the files of a page, by block.
type Files map[string][]File

// Open reads the records of the files that the page carries. It forgets files that the
// visitor took back, and reports whether there were any. Files that are older than a page may
// be, or that another process signed with a secret of its own, are refused: the visitor is
// asked for them again.
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
			good := r.Signer.Open(r.Purpose, token, &s) && s.Form == r.Form && s.Block == block
			switch {
			case !good:
				refused = append(refused, schema.Violation{Field: block, Code: CodeLost})
			case slices.Contains(values[input.Remove+block], s.File.ID):
			case r.Now.Sub(time.UnixMilli(s.Stored)) >= visit.MaxAge:
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

// ForBlock are the files that were sent for a block: as many as a response has.
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

// Answers are the answers of a form's blocks for files.
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
		if raw, err := json.Marshal(value); err == nil { // strings and a number
			answers[block] = raw
		}
	}
	return answers
}

// Unmatched returns the uploaded files of blocks that no longer accept files.
func (f Files) Unmatched(takes func(block string) *schema.Block) (list []read.UnmatchedInput) {
	for _, block := range slices.Sorted(maps.Keys(f)) {
		if takes(block) != nil {
			continue
		}
		for _, file := range f[block] {
			list = append(list, read.UnmatchedInput{Block: block, Text: file.Name})
		}
	}
	return list
}

// Names are the names of the files, refused files included.
func (f Files) Names(refused []schema.Violation) (list []string) {
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

// FileCost is the size that a file counts beside its bytes: its record, and the rest of
// a block.
const FileCost = 4096

// MeteredReader is a file that takes space while it is read: several at once do not take more
// than there is.
type MeteredReader struct {
	r        io.Reader
	used     *atomic.Int64
	limit    int64 // negative: no bound
	limitErr error // what is returned beyond it
	taken    int64
	err      error // the latest of r
}

// Meter counts a file in used while r is read, and fails with full beyond most bytes.
func Meter(r io.Reader, used *atomic.Int64, most int64, full error) *MeteredReader {
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

// Release frees the space of a file that was not stored.
func (m *MeteredReader) Release() { m.used.Add(-m.taken) }

// Interrupted reports whether the file ended before its end: the visitor left.
func (m *MeteredReader) Interrupted() bool { return m.err != nil && !errors.Is(m.err, io.EOF) }
