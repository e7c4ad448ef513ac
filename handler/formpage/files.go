package formpage

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/url"
	"sync/atomic"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/schema"
)

// takesFiles returns a block that takes files, nil when there is none with the id or no place
// for its files.
func (c *call) takesFiles(id string) *schema.Block {
	b := c.block(id)
	if c.fileStore() == nil || b == nil || formblock.Properties(b).Hide || !formblock.TakesFile(b) {
		return nil
	}
	return b
}

// read reads the inputs that were posted, at most so many bytes of text, and stores the files
// that came with them. Of a body that is too large it reads as far as is allowed: complete is
// false then.
func (c *call) read(most int64) (values url.Values, complete bool, err error) {
	bounds := read.Bounds{Bytes: most, Inputs: c.mostInputs()}
	if c.fileStore() == nil {
		return read.Values(c.r, bounds, nil)
	}
	taker := upload.Taker{
		Records: c.records(), Block: c.takesFiles, Allowed: func() bool { return !c.Form.Closed && c.allowed() },
		MaxFile: c.h.host.FileSize, MaxVisit: c.h.config.MaxVisitFiles, Used: c.h.visitFiles, Save: c.saveFile,
	}
	values, complete, err = read.Values(c.r, bounds, taker.Take)
	c.refused = taker.Refused
	return values, complete, err
}

// records signs the page's records of files, and opens them.
func (c *call) records() upload.Records {
	purpose := visit.PurposeFile
	if c.Preview != nil { // the form itself must not take the record for a stored file's
		purpose = visit.PurposePreviewFile
	}
	return upload.Records{Signer: c.h.signer, Purpose: purpose, Form: c.Form.ID.String(), Now: c.now}
}

// openFiles reads the records of the files that the page carries, and reports whether the
// visitor took some back.
func (c *call) openFiles() (takenBack bool) {
	records := c.records()
	stored, lost, takenBack := records.Open(c.Values)
	c.Files, c.refused = stored, append(c.refused, lost...)
	return takenBack
}

// saveFile gives a file to the host's place. Why it was not stored is logged, and the code for the
// page returned.
func (c *call) saveFile(block, name, kind string, content *upload.Metered) (file schema.File, refused string) {
	file, err := c.fileStore().Save(c.r.Context(), Upload{Form: *c.Form, Block: block, Name: name, MIMEType: kind, Body: content})
	level, refused := slog.LevelError, upload.CodeLost
	switch {
	case err == nil:
		return file, ""
	case errors.Is(err, read.ErrTooLarge):
		return file, upload.CodeSize
	case errors.Is(err, upload.ErrVisitFull):
		return file, upload.CodeTotal
	case errors.Is(err, ErrNoSpace):
		level, refused = slog.LevelWarn, upload.CodeSpace
	case content.Broke() || c.r.Context().Err() != nil: // the visitor left
		level = slog.LevelInfo
	}
	c.h.config.Logger.Log(c.r.Context(), level, "a file was not stored", "form", c.Form.ID, "error", err)
	return file, refused
}

// keepFiles says to the host's place which files are about to be sent. The function release takes
// that back, where the response is not stored.
func (c *call) keepFiles(files []string) (release func(), err error) {
	keeper, ok := c.fileStore().(Keeper)
	if !ok || len(files) == 0 {
		return func() {}, nil
	}
	attempt := rand.Text()
	if err := keeper.Keep(c.r.Context(), attempt, files); err != nil {
		return nil, errors.New("keeping files: " + err.Error()) // it says nothing of the response, whatever it is
	}
	return func() {
		if err := keeper.Release(context.WithoutCancel(c.r.Context()), attempt, files); err != nil {
			c.h.config.Logger.WarnContext(c.r.Context(), "files of a response that was refused stay", "form", c.Form.ID, "error", err)
		}
	}, nil
}

// visitFiles counts the files of a visit that are in no response.
func (h *Handler) visitFiles(visit string) *atomic.Int64 {
	h.unsentMu.Lock()
	defer h.unsentMu.Unlock()
	used, ok := h.unsent.Get(visit)
	if !ok {
		used = new(atomic.Int64)
		h.unsent.Put(visit, used, len(visit))
	}
	return used
}

// filesSent begins to count anew. A file that is still being read gives its space back to the
// count before.
func (h *Handler) filesSent(visit string) { h.unsent.Put(visit, new(atomic.Int64), len(visit)) }
