package formpage

import (
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
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/schema"
)

// FileStore stores the files that respondents upload. It must be safe for concurrent use.
type FileStore interface {
	// Save stores the content of u.Body and returns the file with its ID, URL and Size. The answer stores the URL, so
	// the URL must stay valid as long as the submission exists. If reading Body fails, the file is too large or the
	// respondent has disconnected. Save must then delete what it has stored and return the error, possibly wrapped. If
	// there is no space for the file, Save returns [ErrNoSpace].
	Save(ctx context.Context, u Upload) (schema.File, error)
	// Open returns a stored file, or an error that matches [fs.ErrNotExist].
	Open(ctx context.Context, id string) (io.ReadCloser, schema.File, error)
}

// ErrNoSpace means that a [FileStore] has no space for a file. The page then shows a message.
var ErrNoSpace = errors.New("formpage: the file store is full")

// FileRetainer is implemented by a [FileStore] that can delete files that were never submitted. A page can submit its
// files for up to a week. After that, the store may delete a file unless an attempt retains it.
type FileRetainer interface {
	// Retain is called before a submission is stored. The store must not delete a file while an attempt retains it.
	// attempt has 26 letters and digits. If Retain fails, nothing is stored and the page is shown again.
	Retain(ctx context.Context, attempt string, ids []string) error
	// Release undoes a Retain call after the submission was rejected. Other attempts may still retain the files.
	Release(ctx context.Context, attempt string, ids []string) error
}

// Upload is a file that a respondent is uploading.
type Upload struct {
	Form  formsvc.PublicForm
	Block string
	Name  string // The file's name on the respondent's device, without a path. It has at most 200 characters.
	// MIMEType is detected from the first bytes, and is never the type that the browser reports. It can contradict the
	// extension in Name. HTML files get the type application/octet-stream.
	MIMEType string
	Body     io.Reader
}

// FileHandler returns a handler that serves a store's files. The last path segment is the file's ID. Files are always
// served as attachments, so that browsers never show them in the host's origin. Allow access only to users who may read
// submissions:
//
//	mux.Handle("GET /files/", signedIn(formpage.FileHandler(files)))
func FileHandler(files FileStore) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
		body, file, err := files.Open(r.Context(), id)
		if errors.Is(err, fs.ErrNotExist) {
			http.NotFound(w, r)
			return
		}
		if err != nil {
			writeInternalError(w)
			return
		}
		defer func() { _ = body.Close() }()
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": file.Name}))
		w.Header().Set("Content-Length", strconv.FormatInt(file.Size, 10))
		w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "private, no-store")
		w.WriteHeader(http.StatusOK)
		if r.Method != http.MethodHead {
			_, _ = io.Copy(w, body) // the client may have disconnected
		}
	})
}

// Dir stores files in a directory. It is meant for small hosts and experiments. File IDs cannot be guessed. Dir
// implements [FileRetainer], see [Dir.Sweep]. To delete files along with their submissions, see [Dir.RemoveFiles].
type Dir struct {
	// MaxUnsubmitted is the maximum total size of all files that are not part of a submission, in bytes. Each file
	// counts as 4 KiB larger than it is. Defaults to 1 GiB. A negative value means no limit. Set it before the first
	// Save. Beyond the limit, Save returns [ErrNoSpace] until files are submitted or swept. A process reads the total
	// from the directory at most once a minute, or every five seconds if the limit is reached. In between, it adds only
	// the files that it saves itself, so n processes that save concurrently can store n times the limit.
	MaxUnsubmitted int64

	root *os.Root
	url  string

	mu          sync.Mutex
	used        atomic.Int64 // bytes of unsubmitted files
	usageReadAt time.Time
	full        atomic.Bool // a file has been rejected since usageReadAt
}

// NewDir returns a store in an existing directory. The URL of each file is url, such as "https://example.com/files/",
// followed by the file's ID. Answers store these URLs, and a later call with another url does not change them. After a
// change of the domain or path, redirect the old URLs. A host's own pages can build the URL from [schema.File].ID.
func NewDir(path, url string) (*Dir, error) {
	if policy.ParseOrigin(url) == "" || !strings.HasSuffix(url, "/") {
		return nil, fmt.Errorf("formpage: %q is not an absolute http or https URL with a slash at the end", url)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, url: url}, nil
}

// Close closes the directory. It deletes no files.
func (d *Dir) Close() error { return d.root.Close() }

const (
	recordSuffix = ".json"  // suffix of the file that contains Save's result
	retainedMark = ".kept-" // in an empty file's name, separates the file ID from an attempt that retains the file
)

// Save implements [FileStore].
func (d *Dir) Save(_ context.Context, u Upload) (_ schema.File, err error) {
	file := schema.File{ID: strings.ToLower(rand.Text()), Name: u.Name, MIMEType: u.MIMEType}
	file.URL = d.url + file.ID
	if err := d.refreshUsage(); err != nil {
		return schema.File{}, err
	}
	body := upload.NewMeteredReader(u.Body, &d.used, cmp.Or(d.MaxUnsubmitted, 1<<30), ErrNoSpace)
	defer func() {
		if err != nil {
			body.Release() // release before remove, so that a concurrent refreshUsage counts too much instead of too little
			_ = d.remove(file.ID)
			d.full.CompareAndSwap(false, errors.Is(err, ErrNoSpace))
		}
	}()
	content, err := d.root.OpenFile(file.ID, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return schema.File{}, err
	}
	file.Size, err = io.Copy(content, body)
	if err := errors.Join(err, content.Close()); err != nil {
		return schema.File{}, err
	}
	record, err := json.Marshal(file)
	if err != nil {
		return schema.File{}, err
	}
	return file, d.root.WriteFile(file.ID+recordSuffix, record, 0o600)
}

// refreshUsage reads the total size of unsubmitted files from the directory if the last value is too old.
func (d *Dir) refreshUsage() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if age := time.Since(d.usageReadAt); d.MaxUnsubmitted < 0 || age < 5*time.Second || age < time.Minute && !d.full.Load() {
		return nil
	}
	used := -d.used.Load() // keeps what other Save calls add in the meantime
	unsent, err := d.unsubmittedFiles()
	if err != nil {
		return err
	}
	for _, file := range unsent {
		used += file.Size() + upload.FileCost
	}
	d.used.Add(used)
	d.full.Store(false)
	d.usageReadAt = time.Now()
	return nil
}

// unsubmittedFiles returns the files that no attempt retains, without their record files.
func (d *Dir) unsubmittedFiles() (list []fs.FileInfo, err error) {
	entries, err := fs.ReadDir(d.root.FS(), ".")
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{}
	for _, entry := range entries {
		if id, _, marked := strings.Cut(entry.Name(), retainedMark); marked {
			kept[id] = true
		}
	}
	for _, entry := range entries {
		// Look for content files, because a process that crashed during Save left no record.
		if id := entry.Name(); !isFileID(id) || kept[id] {
			continue
		}
		info, err := entry.Info()
		switch {
		case err == nil:
			list = append(list, info)
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	return list, nil
}

// Retain implements [FileRetainer].
func (d *Dir) Retain(_ context.Context, attempt string, ids []string) error {
	for _, id := range ids {
		if !isFileID(id) || !isFileID(attempt) {
			return fs.ErrNotExist
		}
		if _, err := d.root.Stat(id + recordSuffix); err != nil {
			return err // the file was swept or never saved
		}
		if err := d.root.WriteFile(id+retainedMark+attempt, nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Release implements [FileRetainer].
func (d *Dir) Release(_ context.Context, attempt string, ids []string) error {
	var errs []error
	for _, id := range ids {
		if !isFileID(id) || !isFileID(attempt) {
			continue
		}
		if err := d.root.Remove(id + retainedMark + attempt); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Sweep deletes the unsubmitted files that were saved before a given time, and returns how many it deleted. Call it
// regularly for files older than eight days. A page may still submit newer files. Files stay if a submission may have
// been stored with them, see [Config.Submit].
func (d *Dir) Sweep(ctx context.Context, before time.Time) (removed int, err error) {
	unsent, err := d.unsubmittedFiles()
	if err != nil {
		return 0, err
	}
	for _, file := range unsent {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		if !file.ModTime().Before(before) {
			continue
		}
		if err := d.remove(file.Name()); err != nil {
			return removed, err
		}
		removed++
	}
	d.mu.Lock()
	d.usageReadAt = time.Time{}
	d.mu.Unlock()
	return removed, nil
}

// remove deletes a file. It deletes the content last, because Sweep finds files by their content.
func (d *Dir) remove(id string) error {
	for _, end := range []string{recordSuffix, ""} {
		if err := d.root.Remove(id + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// RemoveFiles implements [formsvc.FileRemover], so that [formsvc.WithFiles] deletes files along with their submissions.
// It ignores IDs from other stores. Each call lists the entire directory.
func (d *Dir) RemoveFiles(ctx context.Context, ids []string) error {
	marks, err := fs.Glob(d.root.FS(), "*"+retainedMark+"*")
	removed := map[string]bool{}
	for _, id := range ids {
		if removed[id] = isFileID(id); removed[id] && err == nil {
			err = d.remove(id)
		}
	}
	for _, mark := range marks { // last, because a file without a mark counts as unsubmitted
		if id, attempt, _ := strings.Cut(mark, retainedMark); removed[id] && err == nil {
			err = d.Release(ctx, attempt, []string{id})
		}
	}
	return err
}

func isFileID(id string) bool { return len(id) == 26 && policy.IsSafeName(id) }

// Open implements [FileStore].
func (d *Dir) Open(_ context.Context, id string) (io.ReadCloser, schema.File, error) {
	var file schema.File
	if !isFileID(id) {
		return nil, file, fs.ErrNotExist
	}
	record, err := d.root.ReadFile(id + recordSuffix)
	if err == nil {
		err = json.Unmarshal(record, &file)
	}
	if err != nil {
		return nil, file, err
	}
	content, err := d.root.Open(id)
	if err != nil {
		return nil, file, err
	}
	return content, file, nil
}

func writeInternalError(w http.ResponseWriter) {
	http.Error(w, http.StatusText(http.StatusInternalServerError), http.StatusInternalServerError)
}

// discardStore accepts files in previews without storing them.
type discardStore struct{}

func (discardStore) Save(_ context.Context, u Upload) (schema.File, error) {
	size, err := io.Copy(io.Discard, u.Body)
	if err != nil {
		return schema.File{}, err
	}
	return schema.File{ID: "preview-" + rand.Text(), Name: u.Name, URL: "https://preview.invalid/", MIMEType: u.MIMEType, Size: size}, nil
}

func (discardStore) Open(context.Context, string) (io.ReadCloser, schema.File, error) {
	return nil, schema.File{}, fs.ErrNotExist
}
