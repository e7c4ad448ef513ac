package formpage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/formsvc/formsvc/handler/formpage/internal/filetype"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/formdata"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/schema"
)

func (c *call) fileBlock(id string) *schema.Block {
	b := c.Index.Find(id)
	if c.fileStore() == nil || b == nil || formblock.Properties(b).Hide || !formblock.TakesFile(b) {
		return nil
	}
	return b
}

// readForm parses the posted inputs and stores the files. If the text exceeds most bytes, complete is false.
func (c *call) readForm(most int64) (values url.Values, complete bool, err error) {
	bounds := formdata.BodyLimits{Bytes: most, Inputs: c.maxInputs()}
	if c.fileStore() == nil {
		return formdata.ParseForm(c.r, bounds, nil)
	}
	return formdata.ParseForm(c.r, bounds, c.receiveFile)
}

const maxUploads = 100

// maxDiscarded is how many bytes of rejected files to read, because browsers read the response only after sending.
const maxDiscarded = 32 << 20

var errVisitFull = errors.New("the files of the visit exceed the total size limit")

func (c *call) receiveFile(block, name string, body io.Reader, values url.Values) (more bool) {
	name = filetype.CleanName(name)
	if code := c.saveFile(block, name, body, values); code != "" {
		c.rejectedFiles = append(c.rejectedFiles, schema.Violation{Field: block, Code: code, Params: map[string]any{"name": name}})
		n, _ := io.CopyN(io.Discard, body, maxDiscarded-c.discardedBytes)
		c.discardedBytes += n
	}
	return c.discardedBytes < maxDiscarded
}

// saveFile stores a file and adds its record to values. If it rejects the file, it returns the violation's code.
func (c *call) saveFile(block, name string, body io.Reader, values url.Values) (refused string) {
	b := c.fileBlock(block)
	if b == nil {
		return upload.CodeLost
	}
	v, known := c.h.signer.OpenVisit(pagestate.PurposeVisit, c.Form.ID.String(), values.Get(input.State), c.now)
	if !known || !c.isOwnVisit(&v) || c.Form.Closed || !c.takeTokenOnce() {
		return upload.CodeLost
	}
	single := b.Type == schema.TypeSignature || !formblock.Properties(b).MultipleFiles
	several := single && slices.Contains(c.uploadedBlocks, block) || !single && len(values[input.File+block]) >= formblock.MaxFiles
	if c.uploadedBlocks = append(c.uploadedBlocks, block); several || len(c.uploadedBlocks) > maxUploads {
		return upload.CodeCount
	}
	head := make([]byte, filetype.HeadSize)
	n, err := io.ReadFull(body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return upload.CodeLost
	}
	if n == 0 {
		return upload.CodeEmpty
	}
	kind := filetype.Sniff(head[:n], name)
	if !filetype.AcceptsFile(b, name, kind) {
		return upload.CodeType
	}
	whole := &formdata.LimitedReader{Reader: io.MultiReader(bytes.NewReader(head[:n]), body), Left: c.Host.MaxFileBytes(formblock.Properties(b))}
	content := upload.NewMeteredReader(whole, c.h.visitUsage(v.Key), c.h.config.MaxVisitFiles, errVisitFull)
	file, err := c.fileStore().Save(c.r.Context(), Upload{Form: *c.Form, Block: block, Name: name, MIMEType: kind, Body: content})
	if err != nil {
		content.Release()
		return c.uploadErrorCode(err, content.Interrupted())
	}
	file.Name, file.MIMEType = cmp.Or(file.Name, name), cmp.Or(file.MIMEType, kind)
	if single {
		values.Del(input.File + block)
	}
	values.Add(input.File+block, c.newFileRecords().Sign(block, file))
	return ""
}

func (c *call) uploadErrorCode(err error, brokeOff bool) (code string) {
	level, code := slog.LevelError, upload.CodeLost
	switch {
	case errors.Is(err, formdata.ErrTooLarge):
		return upload.CodeSize
	case errors.Is(err, errVisitFull):
		return upload.CodeTotal
	case errors.Is(err, ErrNoSpace):
		level, code = slog.LevelWarn, upload.CodeSpace
	case brokeOff || c.r.Context().Err() != nil: // the respondent left
		level = slog.LevelInfo
	}
	c.h.config.Logger.Log(c.r.Context(), level, "failed to store file", "form", c.Form.ID, "error", err)
	return code
}

func (c *call) newFileRecords() upload.Records {
	purpose := pagestate.PurposeFile
	if c.Preview != nil { // the form itself must not accept records of files that were not stored
		purpose = pagestate.PurposePreviewFile
	}
	return upload.Records{Signer: c.h.signer, Purpose: purpose, Form: c.Form.ID.String(), Now: c.now}
}

// loadFiles opens the page's file records, and reports whether the respondent removed files.
func (c *call) loadFiles() (takenBack bool) {
	stored, lost, takenBack := c.newFileRecords().Open(c.Values)
	c.Files, c.rejectedFiles = stored, append(c.rejectedFiles, lost...)
	return takenBack
}

// retainFiles retains a submission's files before it is stored. If it is not stored, the caller must call release.
func (c *call) retainFiles(files []string) (release func(), err error) {
	keeper, ok := c.fileStore().(FileRetainer)
	if !ok || len(files) == 0 {
		return func() {}, nil
	}
	attempt := rand.Text()
	if err := keeper.Retain(c.r.Context(), attempt, files); err != nil {
		return nil, errors.New("failed to retain files: " + err.Error()) // hides the error's type, because it could look like an error from Submit
	}
	return func() {
		if err := keeper.Release(context.WithoutCancel(c.r.Context()), attempt, files); err != nil {
			c.h.config.Logger.WarnContext(c.r.Context(), "failed to release files of a rejected response", "form", c.Form.ID, "error", err)
		}
	}, nil
}

func (h *Handler) visitUsage(visit string) *atomic.Int64 {
	h.usageMu.Lock()
	defer h.usageMu.Unlock()
	used, ok := h.usage.Get(visit)
	if !ok {
		used = new(atomic.Int64)
		h.usage.Put(visit, used, len(visit))
	}
	return used
}

// resetVisitUsage starts a new counter. Uploads in progress still use the old one.
func (h *Handler) resetVisitUsage(visit string) { h.usage.Put(visit, new(atomic.Int64), len(visit)) }
