package formdata

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

// ExtraInputs is the number of values that a page or link can contain in addition to the form's own. A page may be from
// another revision of the form, and a link may contain other programs' parameters.
const ExtraInputs = 1000

// maxListInputs is the number of values for a block with a host's choices: as many choices as an answer can have, and
// the two texts of a search.
const maxListInputs = 502

// MaxInputs returns the maximum number of values in a form's page or in a link to the form.
func MaxInputs(blocks []schema.Block, hiddenFields json.RawMessage) int {
	most := ExtraInputs + bytes.Count(hiddenFields, []byte{','})
	for b := range formblock.Walk(blocks) {
		most += 2 + len(b.Choices) // For the answer and the entry in the list of seen blocks.
		if b.ListRef().List != "" {
			most += maxListInputs
		}
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

// ParseQuery parses at most the given number of values in a query string. It drops values with an invalid escape.
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

// toValidUTF8 replaces invalid UTF-8. strings.ToValidUTF8 would use five times as much memory as a long text takes.
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

// BodyLimits holds the limits for a body.
type BodyLimits struct {
	Bytes  int64 // The size of the text, in bytes.
	Inputs int   // The number of values, see MaxInputs.
}

// ReceiveFile stores a file for a block and adds its record to values. If it returns false, reading stops.
type ReceiveFile func(block, name string, body io.Reader, values url.Values) (more bool)

var errNoValues = errors.New("request body has no values: a middleware that reads it must restore it")

// ParseForm parses a posted form. If the body is too large, complete is false. If take is nil, files are ignored.
func ParseForm(r *http.Request, most BodyLimits, take ReceiveFile) (values url.Values, complete bool, err error) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, false, err
	}
	if kind == "multipart/form-data" && take != nil {
		values, complete, err = readMultipart(r.Body, params["boundary"], most, take)
		if err == nil && complete && len(values) == 0 {
			err = errNoValues
		}
		return values, complete, err
	}
	if kind != "application/x-www-form-urlencoded" {
		return nil, false, errors.New("unexpected content type " + kind)
	}
	var body io.Reader = r.Body
	if r.PostForm != nil { // a middleware has parsed the body, for example to find a CSRF token
		body = strings.NewReader(r.PostForm.Encode())
	}
	raw, complete, err := readLimited(body, most.Bytes)
	if err != nil {
		return nil, false, err
	}
	if !complete {
		if i := bytes.LastIndexByte(raw, '%'); i > len(raw)-3 {
			raw = raw[:i] // Remove a truncated escape.
		}
	}
	values, all := ParseQuery(string(raw), most.Inputs)
	if len(values) == 0 && (len(raw) > 0 || r.ContentLength > 0) {
		return nil, false, errNoValues
	}
	return values, complete && all, nil
}

func readLimited(body io.Reader, most int64) (raw []byte, complete bool, err error) {
	raw, err = io.ReadAll(io.LimitReader(body, most+1))
	if complete = int64(len(raw)) <= most; !complete {
		raw = raw[:most]
		discardRest(body)
	}
	if errors.As(err, new(*http.MaxBytesError)) { // The host has set a lower limit.
		return raw, false, nil
	}
	return raw, complete, err
}

// ErrTooLarge means that a body or file exceeds its limit.
var ErrTooLarge = errors.New("the body is too large")

// LimitedReader reads at most Left bytes. It fails if the input is longer or exceeds the host's [http.MaxBytesReader].
// Left is negative after such a failure.
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

// partCost is added to the size of each part's name and text. A part's headers take up about this many bytes, and ten
// times as much memory when parsed.
const partCost = 100

// readMultipart parses a page that contains files. Pages send their other inputs before the files.
func readMultipart(r io.Reader, boundary string, bounds BodyLimits, take ReceiveFile) (values url.Values, complete bool, err error) {
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
		case err != nil && body.Left < 0: // A truncated header results in another error.
			discardRest(r)
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
			discardRest(r)
			return values, false, nil
		}
		if isFile && part.FileName() != "" {
			left := body.Left
			body.Left = math.MaxInt64 // Files have their own limit.
			more := take(block, part.FileName(), part, values)
			body.Left = left
			if !more { // Do not read the rest of the body, which can be endless.
				return values, true, nil
			}
		}
	}
}

// discardRest reads the rest of a body up to a limit. Clients that send everything before they read would otherwise see
// a connection reset instead of the response.
func discardRest(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 8<<20) }

// FrontEndBody is the JSON body that a host's own front end sends.
type FrontEndBody struct {
	State      string                     `json:"state"`
	Answers    map[string]json.RawMessage `json:"answers"` // As in Service.Submit.
	Hidden     map[string]string          `json:"hidden"`
	UTM        map[string]string          `json:"utm"`
	Captcha    string                     `json:"captcha"`     // The value from a rejected request, and the widget's token.
	Took       float64                    `json:"took"`        // Seconds since the first input.
	LegalTexts map[string]string          `json:"legal_texts"` // As in Service.Submit.
	Block      string                     `json:"block"`       // Whose choices the front end requests.
	Search     string                     `json:"search"`      // The text that these choices contain.
}

var knownFields = []string{"block", "search", "state", "answers", "hidden", "utm", "captcha", "took", "legal_texts"}

// ParseJSON parses a [FrontEndBody] as strictly as the API does. It treats null as a missing field. wrong lists
// violations for unknown fields, fields of the wrong type, and too many values. If the body is too large, it returns
// [ErrTooLarge].
func ParseJSON(body io.Reader, most BodyLimits) (in FrontEndBody, wrong []schema.Violation, err error) {
	raw, complete, err := readLimited(body, most.Bytes)
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
		var violation schema.Violation
		switch {
		case !slices.Contains(knownFields, member.Name()):
			violation = schema.Violation{Code: schema.CodeUnknownField, Message: "is not a known field"}
		case member.Len() > most.Inputs:
			violation = schema.Violation{Code: schema.CodeTooMany, Message: "must have at most " + strconv.Itoa(most.Inputs) + " members"}
		default:
			continue
		}
		if violation.Path = member.Pointer(""); len(wrong) < schema.MaxViolations {
			wrong = append(wrong, violation)
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
