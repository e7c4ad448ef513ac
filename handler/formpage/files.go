package formpage

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"sync/atomic"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/schema"
)

// takesFiles returns a block that takes files, nil when there is none with the id or no place
// for its files.
func (c *call) takesFiles(id string) *schema.Block {
	b := c.block(id)
	if c.files() == nil || b == nil || formblock.Properties(b).Hide || !formblock.TakesFile(b) {
		return nil
	}
	return b
}

// read reads the inputs that were posted, at most so many bytes of text, and stores the files
// that came with them. Of a body that is too large it reads as far as is allowed: complete is
// false then.
func (c *call) read(most int64) (values url.Values, complete bool, err error) {
	bounds := read.Bounds{Bytes: most, Inputs: c.mostInputs()}
	if c.files() == nil {
		return read.Values(c.r, bounds, nil)
	}
	taker := upload.Taker{
		Records: c.records(), Block: c.takesFiles, Allowed: func() bool { return !c.form.Closed && c.allowed() },
		MaxFile: c.h.host.FileSize, MaxVisit: c.h.config.MaxVisitFiles, Used: c.h.visitFiles, Save: c.saveFile,
	}
	values, complete, err = read.Values(c.r, bounds, taker.Take)
	c.refused = taker.Refused
	return values, complete, err
}

// records signs the page's records of files, and opens them.
func (c *call) records() upload.Records {
	return upload.Records{Signer: c.h.signer, Purpose: c.filePurpose(), Form: c.form.ID.String(), Now: c.now}
}

// openFiles reads the records of the files that the page carries, and reports whether the
// visitor took some back.
func (c *call) openFiles() (takenBack bool) {
	records := c.records()
	stored, lost, takenBack := records.Open(c.values)
	c.stored, c.refused = stored, append(c.refused, lost...)
	return takenBack
}

// saveFile gives a file to the host's place.
func (c *call) saveFile(block, name, kind string, content *upload.Metered) (file schema.File, refused string) {
	file, err := c.files().Save(c.r.Context(), Upload{Form: c.form, Block: block, Name: name, MIMEType: kind, Body: content})
	if err != nil {
		return file, c.notSaved(err, content.Broke())
	}
	return file, ""
}

// notSaved logs why a file was not stored, and returns the code for the page.
func (c *call) notSaved(err error, broke bool) string {
	level, code := slog.LevelError, upload.CodeLost
	switch {
	case errors.Is(err, read.ErrTooLarge):
		return upload.CodeSize
	case errors.Is(err, upload.ErrVisitFull):
		return upload.CodeTotal
	case errors.Is(err, ErrNoSpace):
		level, code = slog.LevelWarn, upload.CodeSpace
	case broke || c.r.Context().Err() != nil: // the visitor left
		level = slog.LevelInfo
	}
	c.h.logger.Log(c.r.Context(), level, "a file was not stored", "form", c.form.ID, "error", err)
	return code
}

// keepFiles says to the host's place which files are about to be sent.
func (c *call) keepFiles(attempt string, files []string) error {
	keeper, ok := c.files().(Keeper)
	if !ok || len(files) == 0 {
		return nil
	}
	if err := keeper.Keep(c.r.Context(), attempt, files); err != nil {
		return errors.New("keeping files: " + err.Error()) // it says nothing of the response, whatever it is
	}
	return nil
}

// releaseFiles takes back what keepFiles said: the response is not stored.
func (c *call) releaseFiles(attempt string, files []string) {
	keeper, ok := c.files().(Keeper)
	if !ok || len(files) == 0 {
		return
	}
	if err := keeper.Release(context.WithoutCancel(c.r.Context()), attempt, files); err != nil {
		c.h.logger.WarnContext(c.r.Context(), "files of a response that was refused stay", "form", c.form.ID, "error", err)
	}
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
