package answers

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// IdentityRules is the version of the rules below. It rises with every change that
// gives some stored value another identity: identities of two versions cannot be
// compared.
const IdentityRules = 1

// identityOf returns what two stored values have in common exactly when they mean the
// same, from the stored type and the stored value alone: the form may have changed
// since. Values of types that are never compared have none.
//
//   - short_text, long_text: NFKC, case-folded, white space collapsed
//   - email: case-folded, with the domain in its ASCII form
//   - phone: E.164
//   - website: the host in lower case, without scheme, default port and one slash at
//     the end of the path; path and query exactly
//   - number, rating, opinion_scale, nps: the value, however its digits are written
//   - single_choice, dropdown, picture_choice, multiple_choice, ranking: the ids of the
//     choices, of other the text; the order counts in a ranking only
//   - date, time: as stored
//
// Texts are compared with each other whatever their types, so that a block that becomes
// an email block knows the addresses from before whose domains are ASCII.
func identityOf(typ string, value jsontree.Node) (identity []byte, ok bool) {
	if !IsCompared(typ) {
		return nil, false
	}
	return kinds[typ].identity(value)
}

// IsCompared reports whether answers to blocks of a type are ever the same.
func IsCompared(typ string) bool { return kinds[typ].identity != nil }

// textual is the identity of texts that are the same when their common forms are; an empty
// one has none.
func textual(common func(string) string) func(jsontree.Node) ([]byte, bool) {
	return func(value jsontree.Node) ([]byte, bool) {
		text := common(value.Text())
		return append([]byte("s"), text...), text != ""
	}
}

func unchanged(text string) string { return text }

// folded makes texts equal that differ in case, in the width and form of their
// characters, or in white space: a compatibility caseless match (Unicode, D146), which
// folds twice because what is composed in between may have a case again.
func folded(text string) string {
	if isPlainASCII(text) {
		text = strings.ToLower(text)
	} else {
		fold := cases.Fold()
		text = norm.NFKC.String(fold.String(norm.NFKC.String(fold.String(norm.NFD.String(text)))))
	}
	return strings.Join(strings.Fields(text), " ")
}

func emailIdentity(text string) string {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return folded(text)
	}
	return folded(text[:at]) + "@" + asciiHost(text[at+1:])
}

// asciiHost is a domain name in lower case and its ASCII form, if it has one.
func asciiHost(host string) string {
	if !isPlainASCII(host) {
		if ascii, err := idna.Lookup.ToASCII(host); err == nil {
			return ascii
		}
	}
	return folded(host)
}

func phoneIdentity(text string) string {
	if number, ok := (phoneRule{}).normal(text); ok {
		return number
	}
	return folded(text) // from before the service knew numbers
}

func websiteIdentity(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		scheme, rest = "https", text
	}
	host, port, path := splitHost(rest)
	if strings.EqualFold(scheme, "https") && port == ":443" || strings.EqualFold(scheme, "http") && port == ":80" {
		port = ""
	}
	more := strings.IndexAny(path, "?#")
	if more < 0 {
		more = len(path)
	}
	return asciiHost(host) + port + strings.TrimSuffix(path[:more], "/") + path[more:]
}

// decimal is the value of a number literal: sign × digits × 10^exponent. The digits
// neither begin nor end with a zero. Zero has the sign 0 and no digits.
type decimal struct {
	sign     int
	digits   string
	exponent int
}

// parseDecimal reads a JSON number. An exponent that no literal within the bounds of
// package jsontree has is read as 0.
func parseDecimal(literal string) decimal {
	mantissa, power, _ := strings.Cut(strings.ToLower(literal), "e")
	exponent, err := strconv.Atoi(cmp.Or(power, "0"))
	if err != nil {
		exponent = 0
	}
	d := decimal{sign: 1}
	if strings.HasPrefix(mantissa, "-") {
		d.sign, mantissa = -1, mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}
	}
	d.exponent = exponent - len(fraction) + len(digits) - len(d.digits)
	return d
}

// String writes equal values as equal texts.
func (d decimal) String() string {
	if d.sign == 0 {
		return "0"
	}
	sign := ""
	if d.sign < 0 {
		sign = "-"
	}
	return sign + d.digits + "e" + strconv.Itoa(d.exponent)
}

func numberIdentity(value jsontree.Node) ([]byte, bool) {
	if value.Kind() != jsontree.Number {
		return nil, false
	}
	return append([]byte("n"), parseDecimal(value.Raw()).String()...), true
}

func choicesIdentity(value jsontree.Node) ([]byte, bool) { return pickedIdentity(value, false) }

func rankingIdentity(value jsontree.Node) ([]byte, bool) { return pickedIdentity(value, true) }

func pickedIdentity(value jsontree.Node, ordered bool) ([]byte, bool) {
	if value.Kind() != jsontree.Array {
		one, ok := choiceIdentity(value)
		return append([]byte("c"), one...), ok
	}
	var all [][]byte
	for _, item := range value.All() {
		one, ok := choiceIdentity(item)
		if !ok {
			return nil, false
		}
		all = append(all, one)
	}
	if !ordered {
		slices.SortFunc(all, bytes.Compare)
	}
	return append([]byte("c"), bytes.Join(all, []byte{','})...), len(all) > 0
}

// choiceIdentity is the id of a choice as a JSON string, or other in an array.
func choiceIdentity(value jsontree.Node) ([]byte, bool) {
	if id := value.Member("id"); id.Kind() == jsontree.String {
		return jsontree.AppendString(nil, id.Text()), true
	}
	other := folded(value.Member("other").Text())
	return append(jsontree.AppendString([]byte{'['}, other), ']'), other != ""
}

// digest is what the storage compares instead of a value.
func digest(identity []byte) []byte {
	sum := sha256.Sum256(identity)
	return sum[:]
}

// uniqueDigest is Answers.Unique for what a rule wrote.
func uniqueDigest(typ string, value []byte) []byte {
	tree, err := jsontree.Parse(value, storedBounds)
	if err != nil {
		return nil
	}
	defer tree.Release()
	if identity, ok := identityOf(typ, tree.Root()); ok {
		return digest(identity)
	}
	return nil
}

// storedBounds are beyond what is stored: labels are copied into it, so that it may have
// more values than a body.
var storedBounds = jsontree.Bounds{Values: 100 * jsontree.MaxValues}

// StoredUnique returns what [Answers.Unique] is for a stored list of answers and the
// block that is to be unique. nil: the block has no answer that is compared.
func StoredUnique(list json.RawMessage, block string) []byte {
	tree, err := jsontree.Parse(list, storedBounds)
	if err != nil {
		return nil
	}
	defer tree.Release()
	for _, item := range tree.Root().All() {
		field := item.Member("field")
		if typ := field.Member("type").Text(); field.Member("id").Text() == block && IsCompared(typ) {
			if identity, ok := identityOf(typ, item.Member("value")); ok {
				return digest(identity)
			}
			return nil
		}
	}
	return nil
}
