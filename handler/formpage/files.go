package formpage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// The page's own codes for files.
const (
	codeFileSize  = "FILE_SIZE"
	codeFileType  = "FILE_TYPE"
	codeFileCount = "FILE_COUNT"
	codeFileLost  = "FILE_LOST"
)

// storedFile is a file as the page carries it: signed, for one form and block.
type storedFile struct {
	Form  string `json:"o"`
	Block string `json:"b"`
	File  File   `json:"f"`
}

// maxFilesHere bounds how many files one block takes.
const maxFilesHere = 20

var errTooLarge = errors.New("the file is too large")

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

// takeFile stores one file and puts its record among the values.
func (c *call) takeFile(block, name string, body io.Reader, values url.Values) {
	refuse := func(code string) {
		c.refused = append(c.refused, schema.Violation{Field: block, Code: code})
		_, _ = io.CopyN(io.Discard, body, 32<<20)
	}
	b := find(c.form.Blocks, block)
	if c.files() == nil || b == nil || properties(b).Hide || b.Type != schema.TypeFileUpload && b.Type != schema.TypeSignature {
		refuse(codeFileLost)
		return
	}
	if _, known := c.h.signer.openVisit(c.form, values.Get(ctrlState), c.now); !known || c.form.Closed || !c.h.allowed(c.r) {
		refuse(codeFileLost)
		return
	}
	single := b.Type == schema.TypeSignature || !properties(b).MultipleFiles
	if stored := len(values[nameFile+block]); !single && stored >= maxFilesHere {
		refuse(codeFileCount)
		return
	}
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
	file, err := c.files().Save(c.r.Context(), Upload{
		Form: c.form, Block: block, Name: name, MimeType: kind,
		Body: &bounded{r: io.MultiReader(bytes.NewReader(head[:n]), body), left: c.h.config.MaxFileSize},
	})
	switch {
	case errors.Is(err, errTooLarge):
		refuse(codeFileSize)
		return
	case err != nil:
		c.h.logger.ErrorContext(c.r.Context(), "a file was not stored", "form", c.form.ID, "error", err)
		refuse(codeFileLost)
		return
	}
	file.Name, file.MimeType = cmp.Or(file.Name, name), cmp.Or(file.MimeType, kind)
	if single {
		values.Del(nameFile + block)
	}
	values.Add(nameFile+block, c.h.signer.sign(c.filePurpose(), storedFile{c.form.ID.String(), block, file}))
}

// storedFiles are the files of a block that were sent before and not removed.
func (c *call) storedFiles(block string) []File {
	var list []File
	for _, token := range c.values[nameFile+block] {
		var s storedFile
		if c.h.signer.open(c.filePurpose(), token, &s) && s.Form == c.form.ID.String() && s.Block == block &&
			!slices.Contains(c.values[nameRemove+block], s.File.ID) && len(list) < maxFilesHere {
			list = append(list, s.File)
		}
	}
	return list
}

// dropRemoved forgets the files that the visitor took back, and reports whether there
// were any.
func (c *call) dropRemoved() (any bool) {
	for name := range c.values {
		block, ok := strings.CutPrefix(name, nameRemove)
		if !ok {
			continue
		}
		any = true
		var kept []string
		for _, token := range c.values[nameFile+block] {
			var s storedFile
			if c.h.signer.open(c.filePurpose(), token, &s) && !slices.Contains(c.values[name], s.File.ID) {
				kept = append(kept, token)
			}
		}
		c.values[nameFile+block] = kept
		delete(c.values, name)
	}
	return any
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

// drawFiles draws a block that takes files.
func (b *builder) drawFiles(f *field, block *schema.Block, p *schema.Properties) {
	b.multipart = true
	f.Kind, f.Name = "files", nameUpload+block.ID
	f.Remove = nameRemove + block.ID
	f.Several = p.MultipleFiles && block.Type == schema.TypeFileUpload
	size := b.c.words.number(strconv.FormatInt(max(1, b.c.h.config.MaxFileSize>>20), 10))
	if block.Type == schema.TypeSignature {
		f.Kind = "signature"
		f.Accept = "image/png,image/jpeg,image/webp"
		f.Help = b.c.words.get("help.signature")
	} else {
		var types []string
		for _, a := range p.AllowedFiles {
			if a = strings.TrimSpace(a); a != "" && !strings.Contains(a, "/") {
				a = "." + strings.TrimPrefix(a, ".")
			}
			types = append(types, a)
		}
		f.Accept = strings.Join(types, ",")
		f.Help = b.c.words.get("help.files", "size", size)
		if len(types) > 0 {
			f.Help = b.c.words.get("help.files_of", "size", size, "types", strings.Join(types, ", "))
		}
	}
	for _, token := range b.posted(nameFile + block.ID) {
		var s storedFile
		if b.c.h.signer.open(b.c.filePurpose(), token, &s) {
			f.Stored = append(f.Stored, shownFile{Token: token, Input: nameFile + block.ID, File: s.File})
		}
	}
}

// shownFile is a stored file as the page carries and shows it.
type shownFile struct {
	Token, Input string
	File
}
