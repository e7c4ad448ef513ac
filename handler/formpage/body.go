package formpage

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/url"
	"strings"
)

// read reads the inputs that were posted. A body that is too large is read as far as is
// allowed: complete is false then.
func (c *call) read() (values url.Values, complete bool, err error) {
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if err != nil {
		return nil, false, err
	}
	if kind == "multipart/form-data" && c.files() != nil {
		return c.readParts()
	}
	if kind != "application/x-www-form-urlencoded" {
		return nil, false, errors.New("unexpected content type " + kind)
	}
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, c.h.config.MaxBody+1))
	if err != nil {
		return nil, false, err
	}
	complete = int64(len(raw)) <= c.h.config.MaxBody
	if !complete {
		raw = raw[:c.h.config.MaxBody]
		if i := bytes.LastIndexByte(raw, '%'); i > len(raw)-3 {
			raw = raw[:i] // an escape that was cut
		}
		drain(c.r.Body)
	}
	values, err = url.ParseQuery(string(raw))
	if err != nil && len(values) == 0 {
		return nil, false, err
	}
	return validText(values), complete, nil
}

// validText replaces what is not UTF-8, in names as well.
func validText(values url.Values) url.Values {
	valid := make(url.Values, len(values))
	for name, list := range values {
		name = strings.ToValidUTF8(name, "\ufffd")
		for _, text := range list {
			valid[name] = append(valid[name], strings.ToValidUTF8(text, "\ufffd"))
		}
	}
	return valid
}

// partCost is what a part of a page counts beside its name and text: memory, and lines
// that were read.
const partCost = 64

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
		name := strings.ToValidUTF8(part.FormName(), "\ufffd")
		if block, ok := strings.CutPrefix(name, nameUpload); ok {
			if left -= int64(len(name)) + partCost; left < 0 {
				drain(c.r.Body)
				return values, false, nil
			}
			if part.FileName() != "" {
				c.takeFile(block, part.FileName(), part, values)
			}
			if c.spared <= 0 { // the rest of the body may have no end; the page says what was refused
				return values, true, nil
			}
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, left+1))
		if err != nil {
			return values, false, err
		}
		values.Add(name, strings.ToValidUTF8(string(text), "\ufffd"))
		if left -= int64(len(text)) + int64(len(name)) + partCost; left < 0 {
			drain(c.r.Body)
			return values, false, nil
		}
	}
}

// drain reads what is left of a body within bounds, so that a client that writes
// everything before it reads sees the answer and not a reset.
func drain(body io.Reader) { _, _ = io.CopyN(io.Discard, body, 8<<20) }
