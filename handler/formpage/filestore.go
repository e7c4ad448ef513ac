package formpage

import (
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
