package formpage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// Files is a host's place for the files that respondents send. It must be safe for
// concurrent use.
type Files interface {
	// Save stores what the upload's Body holds and returns the file with its ID, URL and
	// Size. An error of reading Body means that the file is not wanted, because it is too
	// large or the visitor left: Save then keeps nothing of it and returns an error.
	Save(ctx context.Context, u Upload) (File, error)
	// Open returns a stored file, or an error that is [fs.ErrNotExist].
	Open(ctx context.Context, id string) (io.ReadCloser, File, error)
}

// Upload is a file that is being sent.
type Upload struct {
	Form  PublicForm
	Block string
	// Name is the name of the file without a path, as the visitor has it: at most 200
	// characters.
	Name string
	// MimeType is what the first bytes look like, never what the visitor's browser says.
	MimeType string
	Body     io.Reader
}

// File is a stored file, as it stands in an answer.
type File struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	URL      string `json:"url"` // absolute, http or https: where the form's owner finds it
	MimeType string `json:"mime_type"`
	Size     int64  `json:"size"`
}

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

// readParts reads a page with files. The inputs come before the files, so a file is
// only taken from a page of ours.
func (c *call) readParts() (values url.Values, complete bool, err error) {
	reader, err := c.r.MultipartReader()
	if err != nil {
		return nil, false, err
	}
	values, left := url.Values{}, c.h.config.MaxBody
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return values, true, nil
		}
		if err != nil {
			return values, false, err
		}
		name := part.FormName()
		if block, ok := strings.CutPrefix(name, nameUpload); ok {
			if part.FileName() != "" {
				c.takeFile(block, part.FileName(), part, values)
			}
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, left+1))
		if err != nil {
			return values, false, err
		}
		if left -= int64(len(text)) + int64(len(name)); left < 0 {
			values.Add(name, strings.ToValidUTF8(string(text), "\ufffd"))
			drain(c.r.Body)
			return values, false, nil
		}
		values.Add(name, strings.ToValidUTF8(string(text), "\ufffd"))
	}
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

// fileName keeps the last part of a name, without what is not shown.
func fileName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.TrimSpace(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x202a && c <= 0x202e || c == '\ufffd' {
			return -1
		}
		return c
	}, strings.ToValidUTF8(name, "")))
	if runes := []rune(name); len(runes) > 200 {
		name = string(runes[len(runes)-200:]) // its end has the extension
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}

// sniffed returns the media type of a file's first bytes. Formats that look like
// another one to the sniffer are told by the name within that.
func sniffed(head []byte, name string) string {
	kind, _, err := mime.ParseMediaType(http.DetectContentType(head))
	if err != nil {
		kind = "application/octet-stream"
	}
	switch extension := strings.ToLower(filepath.Ext(name)); {
	case kind == "text/plain" && extension == ".csv":
		return "text/csv"
	case kind == "application/zip":
		if office, ok := officeTypes[extension]; ok {
			return office
		}
	}
	return kind
}

var officeTypes = map[string]string{
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".odt":  "application/vnd.oasis.opendocument.text",
	".ods":  "application/vnd.oasis.opendocument.spreadsheet",
}

// fits reports whether a block takes a file: by the end of its name or by its type, and
// never a picture that is none.
func fits(b *schema.Block, name, kind string) bool {
	family, _, _ := strings.Cut(kind, "/")
	if b.Type == schema.TypeSignature {
		return kind == "image/png" || kind == "image/jpeg" || kind == "image/webp"
	}
	extension := strings.ToLower(filepath.Ext(name))
	if claimed, _, err := mime.ParseMediaType(mime.TypeByExtension(extension)); err == nil && strings.HasPrefix(claimed, "image/") &&
		claimed != "image/svg+xml" && kind != claimed && slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, claimed) {
		return false
	}
	allowed := properties(b).AllowedFiles
	if !slices.ContainsFunc(allowed, func(a string) bool { return strings.TrimSpace(a) != "" }) {
		return true
	}
	return slices.ContainsFunc(allowed, func(a string) bool {
		a = strings.ToLower(strings.TrimSpace(a))
		if strings.Contains(a, "/") {
			return a == kind || a == family+"/*" || a == "*/*"
		}
		return a != "" && "."+strings.TrimPrefix(a, ".") == extension
	})
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
	b.used[nameFile+block.ID] = true
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
	for _, token := range b.c.values[nameFile+block.ID] {
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

// FileHandler hands out the files of a store by the last part of the path, always as an
// attachment: nothing that a respondent sent is ever shown in the host's origin. A host
// mounts it where only those get who may see responses:
//
//	mux.Handle("GET /files/", signedIn(formpage.FileHandler(files)))
func FileHandler(files Files) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		body, file, err := files.Open(r.Context(), id)
		if errors.Is(err, fs.ErrNotExist) {
			http.NotFound(w, r)
			return
		}
		if err != nil {
			http500(w)
			return
		}
		defer func() { _ = body.Close() }()
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.Name}))
		w.Header().Set("Content-Length", strconv.FormatInt(file.Size, 10))
		w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "private, no-store")
		if r.Method != http.MethodHead {
			_, _ = io.Copy(w, body) // the reader may be gone
		}
	})
}

// Dir keeps files in a directory, for small hosts and for trying things out. Ids cannot be
// guessed. Files that were sent and never submitted stay; a host removes what is old and
// in no response.
type Dir struct {
	root *os.Root
	url  string
}

// NewDir returns a store in a directory that exists. The files' addresses are url, such as
// "https://example.com/files/", followed by their ids.
func NewDir(path, url string) (*Dir, error) {
	if originOf(url) == "" || !strings.HasSuffix(url, "/") {
		return nil, fmt.Errorf("formpage: %q is not an absolute http or https URL that ends in a slash", url)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, url: url}, nil
}

// Close gives the directory back. Its files stay.
func (d *Dir) Close() error { return d.root.Close() }

// Save implements [Files]. The record of a file stands beside it.
func (d *Dir) Save(_ context.Context, u Upload) (_ File, err error) {
	file := File{ID: strings.ToLower(rand.Text()), Name: u.Name, MimeType: u.MimeType}
	file.URL = d.url + file.ID
	content, err := d.root.OpenFile(file.ID, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return File{}, err
	}
	defer func() {
		if err != nil {
			_ = d.root.Remove(file.ID)
		}
	}()
	file.Size, err = io.Copy(content, u.Body)
	if err := errors.Join(err, content.Close()); err != nil {
		return File{}, err
	}
	record, err := json.Marshal(file)
	if err != nil {
		return File{}, err
	}
	return file, d.root.WriteFile(file.ID+".json", record, 0o600)
}

// Open implements [Files].
func (d *Dir) Open(_ context.Context, id string) (io.ReadCloser, File, error) {
	var file File
	if len(id) != 26 || !isPlain(id) {
		return nil, file, fs.ErrNotExist
	}
	record, err := d.root.ReadFile(id + ".json")
	if err != nil {
		return nil, file, err
	}
	if err := json.Unmarshal(record, &file); err != nil {
		return nil, file, err
	}
	content, err := d.root.Open(id)
	if err != nil {
		return nil, file, err
	}
	return content, file, nil
}
