package intake

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
)

// Metadata describes the origin of a submission. Package formsvc documents it.
type Metadata struct {
	Country, Device string
	UserAgent       string `json:"user_agent"`
	UTM             map[string]string
}

var utmNames = [...]string{"campaign", "content", "medium", "source", "term"}

// encodeMetadata encodes metadata without what identifies a device if the form is anonymous.
func (k *CompiledForm) encodeMetadata(m Metadata) []byte {
	if k.Settings.Anonymous {
		m.UserAgent, m.Device = "", ""
	}
	var w jsontree.Writer
	w.Object()
	writeCleanText(&w, "country", m.Country)
	writeCleanText(&w, "device", m.Device)
	writeCleanText(&w, "user_agent", m.UserAgent)
	before := w.Len()
	w.Name("utm").Object()
	empty := w.Len()
	for _, name := range utmNames {
		writeCleanText(&w, name, m.UTM[name])
	}
	if w.Len() == empty {
		w.Truncate(before)
	} else {
		w.EndObject()
	}
	w.EndObject()
	return w.Bytes()
}

func writeCleanText(w *jsontree.Writer, name, value string) {
	if value = sanitizeHeaderText(value); value != "" {
		w.Name(name).String(value)
	}
}

// checkMetadata rejects control characters, because metadata appears in logs, files and terminals.
func checkMetadata(m Metadata) error {
	var broken []error
	check := func(path, text string) {
		if strings.ContainsFunc(text, unicode.IsControl) {
			broken = append(broken, violation.New("/metadata/"+path, schema.CodeBadFormat, "must not contain control characters", "format", "text"))
		}
	}
	check("country", m.Country)
	check("device", m.Device)
	check("user_agent", m.UserAgent)
	for _, name := range utmNames {
		check("utm/"+name, m.UTM[name])
	}
	return violation.Join(broken...)
}

// sanitizeHeaderText makes header text valid for storage, because a submission must not be rejected for an odd header.
func sanitizeHeaderText(s string) string {
	const maxLength = 1000
	s = strings.ToValidUTF8(s, "\ufffd")
	if utf8.RuneCountInString(s) > maxLength {
		s = string([]rune(s)[:maxLength])
	}
	return s
}
