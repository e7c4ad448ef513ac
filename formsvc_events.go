package formsvc

import (
	"strings"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/appendjson"
)

// eventResponseCompleted is the one event type (specification, "Events").
const eventResponseCompleted = "form.response.completed"

// eventBody makes the bytes that webhooks are sent. They are fixed here and are
// the same on every attempt. answers is an object keyed by block id. A zero
// submission id, that of a test event, is left out.
func eventBody(event ID, s Submission, answers []byte) []byte {
	b := make([]byte, 0, 256+len(answers)+len(s.Hidden)+len(s.Metadata))
	b = append(b, `{"id":`...)
	b = appendjson.ID(b, event)
	b = append(b, `,"response":{"formId":`...)
	b = appendjson.ID(b, s.FormID)
	b = append(b, `,"answers":`...)
	b = append(b, answers...)
	if !s.ID.IsZero() {
		b = append(b, `,"submissionId":`...)
		b = appendjson.ID(b, s.ID)
	}
	b = append(b, `,"submittedAt":`...)
	b = appendjson.Time(b, s.SubmittedAt)
	b = append(b, `,"hidden":`...)
	b = append(b, s.Hidden...)
	b = append(b, `,"metadata":`...)
	b = append(b, s.Metadata...)
	b = append(b, `,"completionTime":`...)
	b = appendjson.Number(b, s.CompletionTime)
	return append(b, `}}`...)
}

// utmNames are the members of metadata.utm, in the order in which they are
// written.
var utmNames = [...]string{"campaign", "content", "medium", "source", "term"}

// appendMetadata writes metadata as it is stored and sent; unset members are
// absent.
func appendMetadata(b []byte, m Metadata) []byte {
	b = append(b, '{')
	b = appendMember(b, "country", m.Country)
	b = appendMember(b, "device", m.Device)
	b = appendMember(b, "user_agent", m.UserAgent)
	var utm []byte
	for _, name := range utmNames {
		utm = appendMember(utm, name, m.UTM[name])
	}
	if len(utm) > 0 {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, `"utm":{`...)
		b = append(append(b, utm...), '}')
	}
	return append(b, '}')
}

func appendMember(b []byte, name, value string) []byte {
	if value = headerText(value); value == "" {
		return b
	}
	if len(b) > 0 && b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	b = appendjson.String(b, name)
	b = append(b, ':')
	return appendjson.String(b, value)
}

// headerText makes text that comes from request headers storable: they may hold
// any bytes, and a response is not refused for them.
func headerText(s string) string {
	const most = 1000
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "")
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most])
	}
	return s
}
