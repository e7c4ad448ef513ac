package schema

import (
	"fmt"
	"mime"
	"slices"
	"strconv"
	"strings"
)

// Bounds of what the host says.
const (
	maxFiles    = 100
	maxHostText = 2048 // characters of one member
)

// hostObject reads an object whose members the host gives.
type hostObject struct {
	n *node
	r *report
}

// newHostObject reports members that are not among names.
func newHostObject(n *node, r *report, names ...string) (hostObject, bool) {
	if n.kind != kindObject {
		r.add(CodeWrongType, messageObject)
		return hostObject{}, false
	}
	for _, name := range n.names {
		if !slices.Contains(names, name) {
			r.addIn(name, CodeUnknownField, "is not known here")
		}
		if r.full() {
			break
		}
	}
	return hostObject{n: n, r: r}, true
}

// text returns a string member, or fallback when it is absent. A member that is
// absent without fallback is reported.
func (o hostObject) text(name, fallback string) string {
	if !isBlank(o.n.member(name)) {
		return o.optional(name)
	}
	if fallback == "" {
		o.r.addIn(name, CodeRequired, messageMember)
	}
	return fallback
}

// optional returns a string member, "" when it is absent.
func (o hostObject) optional(name string) string {
	n := o.n.member(name)
	switch {
	case isBlank(n):
		return ""
	case n.kind != kindString:
		o.r.addIn(name, CodeWrongType, messageText)
		return ""
	case longerThan(n.text, maxHostText):
		o.r.addIn(name, CodeTooLong, tooLong(maxHostText))
	}
	return n.text
}

// fileRule checks one stored file.
type fileRule struct {
	allowed []string // extensions with a dot, media types, or image/* and the like; none: all
	max     int64    // bytes, 0: no bound
}

func newFileRule(p *Properties, l Limits) fileRule {
	var rule fileRule
	if p.MaxFileSize {
		rule.max = l.FileSize
	}
	return rule
}

func (t fileRule) check(dst []byte, n *node, r *report) []byte {
	o, ok := newHostObject(n, r, "id", "name", "url", "mime_type", "size")
	if !ok {
		return dst
	}
	id, name, address, mediaType := o.text("id", ""), o.text("name", ""), o.text("url", ""), o.text("mime_type", "")
	if address != "" && !isWebURL(address) {
		r.addIn("url", CodeBadFormat, "must be an http or https URL")
	}
	if name != "" && mediaType != "" && !t.allows(name, mediaType) {
		r.addIn("mime_type", CodeNotAllowed, "must be one of the block's file types")
	}
	size, ok := t.size(n, r)
	if !ok {
		return dst
	}
	dst = appendQuoted(append(dst, `{"id":`...), id)
	dst = appendQuoted(append(dst, `,"name":`...), name)
	dst = appendQuoted(append(dst, `,"url":`...), address)
	dst = appendQuoted(append(dst, `,"mime_type":`...), mediaType)
	dst = strconv.AppendInt(append(dst, `,"size":`...), size, 10)
	return append(dst, '}')
}

func (t fileRule) size(n *node, r *report) (int64, bool) {
	size := n.member("size")
	switch {
	case size == nil || size.kind == kindNull:
		r.addIn("size", CodeRequired, messageMember)
	case size.kind != kindNumber || size.num != float64(int64(size.num)):
		r.addIn("size", CodeWrongType, "must be a whole number of bytes")
	case size.num < 0 || size.num > maxInteger:
		r.addIn("size", CodeOutOfRange, "must be between 0 and 2⁵³−1")
	case t.max > 0 && size.num > float64(t.max):
		r.addIn("size", CodeOutOfRange, fmt.Sprintf("must be at most %d bytes", t.max))
	default:
		return int64(size.num), true
	}
	return 0, false
}

// allows compares with the end of the name and with the media type.
func (t fileRule) allows(name, mediaType string) bool {
	if len(t.allowed) == 0 {
		return true
	}
	name = strings.ToLower(name)
	if bare, _, err := mime.ParseMediaType(mediaType); err == nil {
		mediaType = bare
	}
	mediaType = strings.ToLower(mediaType)
	family, _, _ := strings.Cut(mediaType, "/")
	return slices.ContainsFunc(t.allowed, func(a string) bool {
		if strings.HasPrefix(a, ".") {
			return strings.HasSuffix(name, a)
		}
		return a == mediaType || a == family+"/*" || a == "*/*"
	})
}

// filesRule checks file_upload.
type filesRule struct {
	file fileRule
	most int
}

func newFilesRule(p *Properties, l Limits) filesRule {
	rule := filesRule{file: newFileRule(p, l), most: 1}
	if p.MultipleFiles {
		rule.most = maxFiles
	}
	for _, a := range p.AllowedFiles {
		a = strings.ToLower(strings.TrimSpace(a))
		if a == "" {
			continue
		}
		if !strings.Contains(a, "/") && !strings.HasPrefix(a, ".") {
			a = "." + a
		}
		rule.file.allowed = append(rule.file.allowed, a)
	}
	return rule
}

func (t filesRule) check(dst []byte, n *node, r *report) []byte {
	if n.kind != kindArray {
		return append(t.file.check(append(dst, '['), n, r), ']')
	}
	if len(n.items) > t.most {
		r.add(CodeTooMany, fmt.Sprintf("must have at most %d files", t.most))
		return dst
	}
	whole := r.path
	dst = append(dst, '[')
	for i := range n.items {
		r.path = whole + "/" + strconv.Itoa(i)
		dst = t.file.check(separate(dst), &n.items[i], r)
	}
	r.path = whole
	return append(dst, ']')
}

// signatureRule checks signature: one file.
type signatureRule struct{ fileRule }

// paymentRule checks payment.
type paymentRule struct{ amount, currency, gateway string }

func (t paymentRule) check(dst []byte, n *node, r *report) []byte {
	o, ok := newHostObject(n, r, "amount", "currency", "status", "gateway", "reference")
	if !ok {
		return dst
	}
	amount := o.amount()
	currency := strings.ToUpper(o.text("currency", t.currency))
	if currency != "" && !isCurrency(currency) {
		r.addIn("currency", CodeBadFormat, "must be an ISO 4217 code of three letters")
	}
	status, gateway, reference := o.text("status", ""), o.text("gateway", t.gateway), o.optional("reference")
	dst = appendQuoted(append(dst, `{"amount":`...), amount)
	dst = appendQuoted(append(dst, `,"currency":`...), currency)
	dst = appendQuoted(append(dst, `,"status":`...), status)
	dst = appendQuoted(append(dst, `,"gateway":`...), gateway)
	if reference != "" {
		dst = appendQuoted(append(dst, `,"reference":`...), reference)
	}
	return append(dst, '}')
}

// amount returns the decimal number that was paid. Its digits stay as they are:
// 10.00 is how an amount is written.
func (o hostObject) amount() string {
	n := o.n.member("amount")
	switch {
	case isBlank(n):
		o.r.addIn("amount", CodeRequired, messageMember)
		return ""
	case n.kind != kindString && n.kind != kindNumber:
		o.r.addIn("amount", CodeWrongType, "must be a decimal number in a string")
	case !isDecimal(n.text):
		o.r.addIn("amount", CodeBadFormat, "must be a decimal number without sign or exponent, at most 64 characters")
	}
	return n.text
}

// isDecimal reports whether text is digits with at most one dot inside.
func isDecimal(text string) bool {
	whole, fraction, hasDot := strings.Cut(text, ".")
	return len(text) <= maxNumber && isDigits(whole) && (!hasDot || isDigits(fraction))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func isCurrency(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}
