package formpage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/fault"
	"github.com/formsvc/formsvc/handler/formpage/internal/filetype"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/visit"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/schema"
)

// storedFile is a file as the page carries it: signed, for one form and block, and as long
// as a page can be sent. Whoever removes files that nobody sent knows by that which ones.
type storedFile struct {
	Form   string      `json:"o"`
	Block  string      `json:"b"`
	Stored int64       `json:"t"` // Unix milliseconds
	File   schema.File `json:"f"`
}

// maxFilesHere bounds how many files one block takes.
const maxFilesHere = 20

// maxUploads bounds how many files one request brings, for all blocks together.
const maxUploads = 100

var errVisitFull = errors.New("the files of the visit are too large together")

// maxSpared is how much of refused files one request is read over, so that a browser sees
// the answer.
const maxSpared = 32 << 20

// takeFile stores one file and puts its record among the values.
func (c *call) takeFile(block, name string, body io.Reader, values url.Values) {
	refuse := func(code string) {
		c.refused = append(c.refused, schema.Violation{Field: block, Code: code, Params: map[string]any{"name": filetype.Name(name)}})
		n, _ := io.CopyN(io.Discard, body, c.spared)
		c.spared -= n
	}
	b := c.block(block)
	if !c.takesFiles(b) {
		refuse(fault.FileLost)
		return
	}
	visit, known := c.h.signer.OpenVisit(visit.PurposeVisit, c.form.ID.String(), values.Get(input.State), c.now)
	if !known || c.form.Closed || !c.allowed() {
		refuse(fault.FileLost)
		return
	}
	single := b.Type == schema.TypeSignature || !formblock.Properties(b).MultipleFiles
	several := single && c.brought[block] || !single && len(values[input.File+block]) >= maxFilesHere
	if c.uploads++; several || c.uploads > maxUploads {
		refuse(fault.FileCount)
		return
	}
	c.brought[block] = true
	name = filetype.Name(name)
	head := make([]byte, 512)
	n, err := io.ReadFull(body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		refuse(fault.FileLost)
		return
	}
	kind := filetype.Sniff(head[:n], name)
	if !filetype.Fits(b, name, kind) {
		refuse(fault.FileType)
		return
	}
	content := meter(&bounded{r: io.MultiReader(bytes.NewReader(head[:n]), body), left: c.h.host.FileSize(formblock.Properties(b))},
		c.h.visitFiles(visit.Key), c.h.config.MaxVisitFiles, errVisitFull)
	file, err := c.files().Save(c.r.Context(), Upload{Form: c.form, Block: block, Name: name, MIMEType: kind, Body: content})
	if err != nil {
		content.giveBack()
		refuse(c.notSaved(err, content.broke()))
		return
	}
	file.Name, file.MIMEType = cmp.Or(file.Name, name), cmp.Or(file.MIMEType, kind)
	if single {
		values.Del(input.File + block)
	}
	values.Add(input.File+block, c.h.signer.Sign(c.filePurpose(), storedFile{c.form.ID.String(), block, c.now.UnixMilli(), file}))
}

// notSaved logs why a file was not stored, and returns the code for the page.
func (c *call) notSaved(err error, broke bool) string {
	level, code := slog.LevelError, fault.FileLost
	switch {
	case errors.Is(err, errTooLarge):
		return fault.FileSize
	case errors.Is(err, errVisitFull):
		return fault.FileTotal
	case errors.Is(err, ErrNoSpace):
		level, code = slog.LevelWarn, fault.FileSpace
	case broke || c.r.Context().Err() != nil: // the visitor left
		level = slog.LevelInfo
	}
	c.h.logger.Log(c.r.Context(), level, "a file was not stored", "form", c.form.ID, "error", err)
	return code
}

// openFiles reads the records of the files that the page carries. It forgets those that the
// visitor took back, and reports whether there were any. Files that are older than a page may
// be, or that another process signed with a secret of its own, are refused: the visitor is
// asked for them again.
func (c *call) openFiles() (takenBack bool) {
	c.stored = map[string][]shownFile{}
	for name, tokens := range c.values {
		block, ok := strings.CutPrefix(name, input.File)
		if !ok {
			continue
		}
		var kept []string
		for _, token := range tokens {
			var s storedFile
			good := c.h.signer.Open(c.filePurpose(), token, &s) && s.Form == c.form.ID.String() && s.Block == block
			switch {
			case !good:
				c.refused = append(c.refused, schema.Violation{Field: block, Code: fault.FileLost})
			case slices.Contains(c.values[input.Remove+block], s.File.ID):
			case c.now.Sub(time.UnixMilli(s.Stored)) >= visit.MaxAge:
				c.refused = append(c.refused, schema.Violation{Field: block, Code: fault.FileLost, Params: map[string]any{"name": s.File.Name}})
			default:
				kept = append(kept, token)
				c.stored[block] = append(c.stored[block], shownFile{Token: token, Input: name, File: s.File})
			}
		}
		c.values[name] = kept
	}
	for name := range c.values {
		if strings.HasPrefix(name, input.Remove) {
			takenBack = true
			delete(c.values, name)
		}
	}
	return takenBack
}

// filesOf are the files that were sent for a block: as many as a response has.
func (c *call) filesOf(block string) (list []schema.File) {
	most := maxFilesHere
	if b := c.block(block); b != nil && b.Type == schema.TypeSignature {
		most = 1
	}
	for _, s := range c.stored[block] {
		list = append(list, s.File)
	}
	return list[:min(len(list), most)]
}

// unplacedFiles are the files that were sent for blocks that take none any more.
func (c *call) unplacedFiles() (list []Unplaced) {
	for _, block := range slices.Sorted(maps.Keys(c.stored)) {
		if c.takesFiles(c.block(block)) {
			continue
		}
		for _, s := range c.stored[block] {
			list = append(list, Unplaced{Block: block, Text: s.Name})
		}
	}
	return list
}

// takesFiles reports whether there is a block, and a place for its files.
func (c *call) takesFiles(b *schema.Block) bool {
	return c.files() != nil && b != nil && !formblock.Properties(b).Hide && formblock.TakesFile(b)
}

// fileAnswers are the answers of the form's blocks for files.
func (c *call) fileAnswers() map[string]json.RawMessage {
	answers := map[string]json.RawMessage{}
	for block := range c.stored {
		b, files := c.block(block), c.filesOf(block)
		if c.files() == nil || b == nil || !formblock.TakesFile(b) {
			continue
		}
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

// drawFiles draws a block that takes files.
func (b *builder) drawFiles(f *field, block *schema.Block, p *schema.Properties) {
	b.multipart = true
	f.control, f.Name = (*writer).files, input.Upload+block.ID
	f.Remove = input.Remove + block.ID
	f.Several = p.MultipleFiles && block.Type == schema.TypeFileUpload
	f.MaxBytes = b.c.h.host.FileSize(p)
	size, types := words.Megabytes(f.MaxBytes), answers.FileTypesOf(p)
	switch {
	case block.Type == schema.TypeSignature:
		f.Accept = strings.Join(filetype.SignatureTypes, ",")
		f.Help = b.c.words.Get("help.signature")
	case len(types) > 0:
		f.Accept = strings.Join(types, ",")
		f.Help = b.c.words.Get("help.files_of", "size", size, "types", strings.Join(types, ", "))
	default:
		f.Help = b.c.words.Get("help.files", "size", size)
	}
	b.used[input.File+block.ID] = true
	f.Stored = b.c.stored[block.ID]
}

// shownFile is a stored file as the page carries and shows it.
type shownFile struct {
	Token, Input string
	schema.File
}
