package formpage

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// The page's own codes for files.
const (
	codeFileSize  = "FILE_SIZE"
	codeFileType  = "FILE_TYPE"
	codeFileCount = "FILE_COUNT"
	codeFileLost  = "FILE_LOST"
	codeFileTotal = "FILE_TOTAL" // of the visit
	codeFileSpace = "FILE_SPACE" // of the host's place
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

var (
	errTooLarge  = errors.New("the file is too large")
	errVisitFull = errors.New("the files of the visit are too large together")
)

// bounded reads at most so many bytes, and fails when there are more.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// maxSpared is how much of refused files one request is read over, so that a browser sees
// the answer.
const maxSpared = 32 << 20

// takeFile stores one file and puts its record among the values.
func (c *call) takeFile(block, name string, body io.Reader, values url.Values) {
	refuse := func(code string) {
		c.refused = append(c.refused, schema.Violation{Field: block, Code: code, Params: map[string]any{"name": fileName(name)}})
		n, _ := io.CopyN(io.Discard, body, c.spared)
		c.spared -= n
	}
	b := c.block(block)
	if !c.takesFiles(b) {
		refuse(codeFileLost)
		return
	}
	visit, known := c.h.signer.openVisit(c.form, values.Get(ctrlState), c.now)
	if !known || c.form.Closed || !c.allowed() {
		refuse(codeFileLost)
		return
	}
	single := b.Type == schema.TypeSignature || !properties(b).MultipleFiles
	several := single && c.brought[block] || !single && len(values[nameFile+block]) >= maxFilesHere
	if c.uploads++; several || c.uploads > maxUploads {
		refuse(codeFileCount)
		return
	}
	c.brought[block] = true
	name = fileName(name)
	head := make([]byte, 512)
	n, err := io.ReadFull(body, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		refuse(codeFileLost)
		return
	}
	kind := sniffed(head[:n], name)
	if !fits(b, name, kind) {
		refuse(codeFileType)
		return
	}
	content := meter(&bounded{r: io.MultiReader(bytes.NewReader(head[:n]), body), left: c.h.maxFile(properties(b))},
		c.h.visitFiles(visit.Key), c.h.config.MaxVisitFiles, errVisitFull)
	file, err := c.files().Save(c.r.Context(), Upload{Form: c.form, Block: block, Name: name, MIMEType: kind, Body: content})
	if err != nil {
		content.giveBack()
		refuse(c.notSaved(err, content.broke()))
		return
	}
	file.Name, file.MIMEType = cmp.Or(file.Name, name), cmp.Or(file.MIMEType, kind)
	if single {
		values.Del(nameFile + block)
	}
	values.Add(nameFile+block, c.h.signer.sign(c.filePurpose(), storedFile{c.form.ID.String(), block, c.now.UnixMilli(), file}))
}

// notSaved logs why a file was not stored, and returns the code for the page.
func (c *call) notSaved(err error, broke bool) string {
	level, code := slog.LevelError, codeFileLost
	switch {
	case errors.Is(err, errTooLarge):
		return codeFileSize
	case errors.Is(err, errVisitFull):
		return codeFileTotal
	case errors.Is(err, ErrNoSpace):
		level, code = slog.LevelWarn, codeFileSpace
	case broke || c.r.Context().Err() != nil: // the visitor left
		level = slog.LevelInfo
	}
	c.h.logger.Log(c.r.Context(), level, "a file was not stored", "form", c.form.ID, "error", err)
	return code
}

// storedFiles are the files of a block that were sent before: as many as a response has.
func (c *call) storedFiles(block string) []schema.File {
	var list []schema.File
	most := maxFilesHere
	if b := c.block(block); b != nil && b.Type == schema.TypeSignature {
		most = 1
	}
	for _, token := range c.values[nameFile+block] {
		if s, ok := c.openFile(block, token); ok && len(list) < most {
			list = append(list, s.File)
		}
	}
	return list
}

// dropRemoved forgets the files that the visitor took back, and reports whether there
// were any. Files that are older than a page may be, or that another process signed with a
// secret of its own, are refused: the visitor is asked for them again.
func (c *call) dropRemoved() (any bool) {
	for name, tokens := range c.values {
		block, ok := strings.CutPrefix(name, nameFile)
		if !ok {
			continue
		}
		back := c.values[nameRemove+block]
		var kept []string
		for _, token := range tokens {
			s, ok := c.openFile(block, token)
			switch {
			case ok && slices.Contains(back, s.File.ID):
			case !ok || c.now.Sub(time.UnixMilli(s.Stored)) >= maxVisit:
				c.refused = append(c.refused, schema.Violation{Field: block, Code: codeFileLost})
			default:
				kept = append(kept, token)
			}
		}
		c.values[name] = kept
	}
	for name := range c.values {
		if strings.HasPrefix(name, nameRemove) {
			any = true
			delete(c.values, name)
		}
	}
	return any
}

// unplacedFiles are the files that were sent for blocks that take none any more.
func (c *call) unplacedFiles() []Unplaced {
	var list []Unplaced
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		block, ok := strings.CutPrefix(name, nameFile)
		if !ok || c.takesFiles(c.block(block)) {
			continue
		}
		for _, token := range c.values[name] {
			if s, ok := c.openFile(block, token); ok {
				list = append(list, Unplaced{Block: block, Text: s.File.Name})
			}
		}
	}
	return list
}

// takesFiles reports whether there is a block, and a place for its files.
func (c *call) takesFiles(b *schema.Block) bool {
	return c.files() != nil && b != nil && !properties(b).Hide && (b.Type == schema.TypeFileUpload || b.Type == schema.TypeSignature)
}

// openFile reads the record of a file that was stored for a block of this form.
func (c *call) openFile(block, token string) (s storedFile, ok bool) {
	ok = c.h.signer.open(c.filePurpose(), token, &s) && s.Form == c.form.ID.String() && s.Block == block
	return s, ok
}

// fileAnswers are the answers of the form's blocks for files.
func (c *call) fileAnswers(blocks []schema.Block, into map[string]json.RawMessage) {
	if c.files() == nil {
		return
	}
	for i := range blocks {
		b := &blocks[i]
		c.fileAnswers(b.Children, into)
		if b.Type != schema.TypeFileUpload && b.Type != schema.TypeSignature {
			continue
		}
		files := c.storedFiles(b.ID)
		if len(files) == 0 {
			continue
		}
		var value any = files
		if b.Type == schema.TypeSignature {
			value = files[0]
		}
		if raw, err := json.Marshal(value); err == nil { // strings and a number
			into[b.ID] = raw
		}
	}
}

// filesOf are the ids of the files that were sent for blocks.
func (c *call) filesOf(blocks []schema.Block) []string {
	var list []string
	for _, id := range ids(blocks) {
		for _, file := range c.storedFiles(id) {
			list = append(list, file.ID)
		}
	}
	return list
}

// keepFiles says to the host's place which files are about to be sent.
func (c *call) keepFiles(attempt string, files []string) error {
	keeper, ok := c.files().(Keeper)
	if !ok || len(files) == 0 {
		return nil
	}
	if err := keeper.Keep(c.r.Context(), attempt, files); err != nil {
		return fmt.Errorf("keeping files: %w", err)
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

// isRefused reports whether an error of Submit says that nothing is stored. After any other
// one it may be.
func isRefused(err error) bool {
	var faults *schema.Error
	return errors.As(err, &faults) || errors.Is(err, storage.ErrDuplicate) || errors.Is(err, formsvc.ErrClosed) || errors.Is(err, formsvc.ErrKeyUsed) || errors.Is(err, storage.ErrNotFound)
}

// drawFiles draws a block that takes files.
func (b *builder) drawFiles(f *field, block *schema.Block, p *schema.Properties) {
	b.multipart = true
	f.control, f.Name = (*pen).files, nameUpload+block.ID
	f.Remove = nameRemove + block.ID
	f.Several = p.MultipleFiles && block.Type == schema.TypeFileUpload
	f.MaxBytes = b.c.h.maxFile(p)
	size, types := megabytes(f.MaxBytes), fileTypes(p)
	switch {
	case block.Type == schema.TypeSignature:
		f.Accept = strings.Join(signatureTypes, ",")
		f.Help = b.c.words.get("help.signature")
	case len(types) > 0:
		f.Accept = strings.Join(types, ",")
		f.Help = b.c.words.get("help.files_of", "size", size, "types", strings.Join(types, ", "))
	default:
		f.Help = b.c.words.get("help.files", "size", size)
	}
	for _, token := range b.posted(nameFile + block.ID) {
		if s, ok := b.c.openFile(block.ID, token); ok {
			f.Stored = append(f.Stored, shownFile{Token: token, Input: nameFile + block.ID, File: s.File})
		}
	}
}

// shownFile is a stored file as the page carries and shows it.
type shownFile struct {
	Token, Input string
	schema.File
}
