// Package upload has the files that a page brings: how they are taken, and the records that the
// page carries of them from then on.
package upload

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/url"
	"sync/atomic"

	"github.com/formsvc/formsvc/handler/formpage/internal/filetype"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/schema"
)

// maxUploads bounds how many files one request brings, for all blocks together.
const maxUploads = 100

// maxSpared is how much of refused files one request is read over, so that a browser sees
// the answer.
const maxSpared = 32 << 20

// ErrVisitFull says that a visit has sent as much as it may.
var ErrVisitFull = errors.New("the files of the visit are too large together")

// Taker takes the files of one request.
type Taker struct {
	Records
	Block    func(id string) *schema.Block // the block that a file is for; nil: no file is taken
	Allowed  func() bool                   // whether the visitor may store something
	MaxFile  func(*schema.Properties) int64
	MaxVisit int64                            // bytes of a visit's files, negative: no bound
	Used     func(visit string) *atomic.Int64 // how many files a visit has sent
	Save     func(block, name, kind string, content *Metered) (file schema.File, refused string)

	Refused []schema.Violation // files that were not taken

	brought map[string]bool // the blocks that files came for
	uploads int             // files that came
	over    int64           // bytes of refused files that were read over
}

// Take stores one file and puts its record among the values. It returns false when so much was
// refused that no more is read.
func (t *Taker) Take(block, name string, body io.Reader, values url.Values) (more bool) {
	name = filetype.Name(name)
	if code := t.take(block, name, body, values); code != "" {
		t.Refused = append(t.Refused, schema.Violation{Field: block, Code: code, Params: map[string]any{"name": name}})
		n, _ := io.CopyN(io.Discard, body, maxSpared-t.over)
		t.over += n
	}
	return t.over < maxSpared
}

// take is Take, and returns the code of the fault for a file that it refuses.
func (t *Taker) take(block, name string, body io.Reader, values url.Values) (refused string) {
	b := t.Block(block)
	if b == nil {
		return CodeLost
	}
	v, known := t.Signer.OpenVisit(visit.PurposeVisit, t.Form, values.Get(input.State), t.Now)
	if !known || !t.Allowed() {
		return CodeLost
	}
	single := b.Type == schema.TypeSignature || !formblock.Properties(b).MultipleFiles
	several := single && t.brought[block] || !single && len(values[input.File+block]) >= formblock.MaxFiles
	if t.uploads++; several || t.uploads > maxUploads {
		return CodeCount
	}
	if t.brought == nil {
		t.brought = map[string]bool{}
	}
	t.brought[block] = true
	head := make([]byte, 512)
	n, err := io.ReadFull(body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return CodeLost
	}
	kind := filetype.Sniff(head[:n], name)
	if !filetype.Fits(b, name, kind) {
		return CodeType
	}
	whole := &read.Bounded{Reader: io.MultiReader(bytes.NewReader(head[:n]), body), Left: t.MaxFile(formblock.Properties(b))}
	content := Meter(whole, t.Used(v.Key), t.MaxVisit, ErrVisitFull)
	file, refused := t.Save(block, name, kind, content)
	if refused != "" {
		content.GiveBack()
		return refused
	}
	file.Name, file.MIMEType = cmp.Or(file.Name, name), cmp.Or(file.MIMEType, kind)
	if single {
		values.Del(input.File + block)
	}
	values.Add(input.File+block, t.sign(block, file))
	return ""
}

// FileCost is the size that a file counts beside its bytes: its record, and the rest of
// a block.
const FileCost = 4096

// Metered is a file that takes space while it is read: several at once do not take more
// than there is.
type Metered struct {
	r     io.Reader
	used  *atomic.Int64
	most  int64 // negative: no bound
	full  error // what is returned beyond it
	taken int64
	err   error // the latest of r
}

// Meter counts a file in used while r is read, and fails with full beyond most bytes.
func Meter(r io.Reader, used *atomic.Int64, most int64, full error) *Metered {
	used.Add(FileCost)
	return &Metered{r: r, used: used, most: most, full: full, taken: FileCost}
}

func (m *Metered) Read(p []byte) (n int, err error) {
	n, m.err = m.r.Read(p)
	m.taken += int64(n)
	if m.used.Add(int64(n)) > m.most && m.most >= 0 {
		return 0, m.full
	}
	return n, m.err
}

// GiveBack frees the space of a file that was not stored.
func (m *Metered) GiveBack() { m.used.Add(-m.taken) }

// Broke reports whether the file ended before its end: the visitor left.
func (m *Metered) Broke() bool { return m.err != nil && !errors.Is(m.err, io.EOF) }
