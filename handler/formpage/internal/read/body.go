package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// ExtraInputs is how many values are read beyond those that the form asks for: a page may
// be made from another revision of the form, and a link may have parameters of other
// programs.
const ExtraInputs = 1000

// MaxInputs is how many values a page of a form, or a link to it, can bring: of its blocks,
// and of its hidden fields as they are stored.
func MaxInputs(blocks []schema.Block, hiddenFields json.RawMessage) int {
	most := ExtraInputs + bytes.Count(hiddenFields, []byte{','})
	for b := range formblock.Walk(blocks) {
		most += 2 + len(b.Choices) // its answer, and that it was seen
		switch b.AnswerShape() {
		case schema.ShapeDate:
			most += 5
		case schema.ShapeContact:
			most += len(formblock.ContactParts)
		case schema.ShapeFiles:
			most += 2 * formblock.MaxFiles
		case schema.ShapeMatrix:
			most += len(b.MatrixRows)
			if formblock.Properties(b).MultiSelection {
				most += len(b.MatrixRows) * len(b.MatrixColumns)
			}
		}
	}
	return most
}

// ParseQuery reads text that is written as a query. It reads a bounded number of values, those of
// the first names. An escape that is broken drops its value.
func ParseQuery(raw string, most int) (values url.Values, complete bool) {
	values = url.Values{}
	for n := 0; raw != ""; {
		var pair string
		pair, raw, _ = strings.Cut(raw, "&")
		if pair == "" || strings.Contains(pair, ";") {
			continue
		}
		if n++; n > most {
			return values, false
		}
		name, text, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			continue
		}
		if text, err = url.QueryUnescape(text); err == nil {
			values.Add(toValidUTF8(name), toValidUTF8(text))
		}
	}
	return values, true
}

// toValidUTF8 replaces what is not UTF-8. strings.ToValidUTF8 takes five times the text for that,
// where there is much of it.
func toValidUTF8(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	b.Grow(2*len(text) + 3)
	broken := false
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		was := broken
		if broken = r == utf8.RuneError && size == 1; !broken || !was {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// BodyLimits are how much of a body is read.
type BodyLimits struct {
	Bytes  int64 // of text
	Inputs int   // see MaxInputs
}

// ReceiveFile takes a file that came for a block, and puts its record among the values. It
// returns false when no more of the body is to be read.
type ReceiveFile func(block, name string, body io.Reader, values url.Values) (more bool)

// ReadForm reads the inputs that were posted. Of a body that is too large it reads as far as is
// allowed: complete is false then. Without take no files come.
func ReadForm(r *http.Request, most BodyLimits, take ReceiveFile) (values url.Values, complete bool, err error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, false, err
	}
	if kind == "multipart/form-data" && take != nil {
		return readParts(r.Body, params["boundary"], most, take)
	}
	if kind != "application/x-www-form-urlencoded" {
		return nil, false, errors.New("unexpected content type " + kind)
	}
	raw, complete, err := readAll(r.Body, most.Bytes)
	if err != nil {
		return nil, false, err
	}
	if !complete {
		if i := bytes.LastIndexByte(raw, '%'); i > len(raw)-3 {
			raw = raw[:i] // an escape that was cut
		}
	}
	values, all := ParseQuery(string(raw), most.Inputs)
	if len(values) == 0 && len(raw) > 0 {
		return nil, false, errors.New("the body has no values")
	}
	return values, complete && all, nil
}

// readAll reads a body as far as is allowed.
func readAll(body io.Reader, most int64) (raw []byte, complete bool, err error) {
	raw, err = io.ReadAll(io.LimitReader(body, most+1))
	if complete = int64(len(raw)) <= most; !complete {
		raw = raw[:most]
		drain(body)
	}
	if errors.As(err, new(*http.MaxBytesError)) { // the host's own bound was tighter
		return raw, false, nil
	}
	return raw, complete, err
}

// ErrTooLarge says that there is more to read than may be.
var ErrTooLarge = errors.New("the body is too large")

// LimitedReader reads at most so many bytes, and fails when there are more, for it or for an
// [http.MaxBytesReader] of the host's. Left is negative then.
type LimitedReader struct {
	Reader io.Reader
	Left   int64
}

func (b *LimitedReader) Read(p []byte) (int, error) {
	if b.Left < 0 {
		return 0, ErrTooLarge
	}
	n, err := b.Reader.Read(p)
	if b.Left -= int64(n); b.Left < 0 {
		return 0, ErrTooLarge
	}
	if errors.As(err, new(*http.MaxBytesError)) {
		b.Left = -1
		return n, ErrTooLarge
	}
	return n, err
}

// partCost is the size that a part of a page counts beside its name and text. A browser
// writes as many bytes for the part, and reading it takes ten times as much memory.
const partCost = 100

// readParts reads a page with files. The inputs come before the files, so a file is
// only taken from a page of ours.
func readParts(r io.Reader, boundary string, bounds BodyLimits, take ReceiveFile) (values url.Values, complete bool, err error) {
	if boundary == "" {
		return nil, false, errors.New("the multipart body has no boundary")
	}
	most, inputs := bounds.Bytes, bounds.Inputs
	body := &LimitedReader{Reader: r, Left: max(most, 2*most)}
	reader := multipart.NewReader(body, boundary)
	values = url.Values{}
	var text bytes.Buffer
	for {
		part, err := reader.NextPart()
		switch {
		case errors.Is(err, io.EOF):
			return values, true, nil
		case err != nil && body.Left < 0: // a header that was cut has an error of its own
			drain(r)
			return values, false, nil
		case err != nil:
			return values, false, err
		}
		name := toValidUTF8(part.FormName())
		most -= int64(len(name)) + partCost
		block, isFile := strings.CutPrefix(name, input.Upload)
		if !isFile && most >= 0 {
			text.Reset()
			_, err = text.ReadFrom(io.LimitReader(part, most+1))
			if most -= int64(text.Len()); err != nil && !errors.Is(err, ErrTooLarge) {
				return values, false, err
			}
			values.Add(name, toValidUTF8(text.String()))
		}
		if inputs--; most < 0 || inputs < 0 {
			drain(r)
			return values, false, nil
		}
		if isFile && part.FileName() != "" {
			left := body.Left
			body.Left = math.MaxInt64 // a file has a bound of its own
			more := take(block, part.FileName(), part, values)
			body.Left = left
			if !more { // the rest of the body may have no end; the page names the refused part
				return values, true, nil
			}
		}
	}
}

// drain reads the rest of a body within bounds, so that a client that writes everything
// before it reads sees the answer and not a reset.
func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 8<<20) }

// FrontEndBody is the body that a front end sends.
type FrontEndBody struct {
	State   string                     `json:"state"`
	Answers map[string]json.RawMessage `json:"answers"` // as Service.Submit takes them
	Hidden  map[string]string          `json:"hidden"`
	UTM     map[string]string          `json:"utm"`
	Captcha string                     `json:"captcha"` // the value that a refusal returned, and the widget's token
	Took    float64                    `json:"took"`    // seconds since the first input
}

// knownFields are the members of a [FrontEndBody].
var knownFields = []string{"state", "answers", "hidden", "utm", "captcha", "took"}

// ParseJSON reads the body of a front end, as strictly as the API does. Its members must be of the
// right kinds; null is as good as none. What may not be there is wrong: members of other
// names, and more answers or texts than the form has inputs. The error of a body that is too
// large is [ErrTooLarge].
func ParseJSON(body io.Reader, most BodyLimits) (in FrontEndBody, wrong []schema.Violation, err error) {
	raw, complete, err := readAll(body, most.Bytes)
	if !complete {
		return in, nil, ErrTooLarge
	}
	if err != nil {
		return in, nil, err
	}
	tree, err := jsontree.Parse(raw, jsontree.BodyLimits)
	if err != nil {
		return in, nil, err
	}
	defer tree.Release()
	if tree.Root().Kind() != jsontree.Object {
		return in, nil, errors.New("the body is not an object")
	}
	for _, member := range tree.Root().All() {
		var fault schema.Violation
		switch {
		case !slices.Contains(knownFields, member.Name()):
			fault = schema.Violation{Code: schema.CodeUnknownField, Message: "is not a known field"}
		case member.Len() > most.Inputs:
			fault = schema.Violation{Code: schema.CodeTooMany, Message: "must have at most " + strconv.Itoa(most.Inputs) + " members"}
		default:
			continue
		}
		if fault.Path = member.Pointer(""); len(wrong) < schema.MaxViolations {
			wrong = append(wrong, fault)
		}
	}
	if len(wrong) > 0 {
		return in, wrong, nil
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, nil, err
	}
	if in.Answers == nil {
		in.Answers = map[string]json.RawMessage{}
	}
	for name, text := range in.Hidden {
		in.Hidden[name] = CleanText(text)
	}
	return in, nil, nil
}
