package field

import (
	"encoding/json"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// ViolationText returns the text that respondents see for a violation. Messages from the host are always shown. The
// library's messages are in English, so they are shown only for unknown codes. b is nil if the form does not contain
// the block. part is true if the violation is in a part of the block.
func (s *Source) ViolationText(v schema.Violation, b *schema.Block, part bool) string {
	text, _ := s.violationText(v, b, part)
	return text
}

// violationText returns the text without formats and, for the message of a check with formats, its HTML. A host that
// calls Submit itself returns a check's message without values.
func (s *Source) violationText(v schema.Violation, b *schema.Block, part bool) (plain, html string) {
	say, isCheck := v.Params["say"].(string)
	if isCheck && (!s.Verbatim || v.Message == "" || v.Message == schema.ParseText(say, allMarks).Plain()) {
		return s.text(say, allMarks)
	}
	if s.Verbatim && v.Message != "" {
		return v.Message, ""
	}
	code, kind, params := s.textVariant(v, b, part)
	for _, key := range []string{"error." + code + "." + kind, "error." + code} {
		if _, known := s.Words.Texts[key]; known {
			return s.Words.Get(key, params...), ""
		}
	}
	return v.Message, ""
}

// formatWords maps the formats in [schema.CodeParams] to text keys.
var formatWords = map[string]string{
	"email": "email", "phone": "phone", "international_phone": "phone", "url": "website",
	"date": "date", "date-time": "date", "year": "year", "time": "time",
	"offset": "skipped", // For a time that does not exist, the page sends no offset.
}

// textVariant selects the text for a violation. It returns the parts of the text's key and its parameters.
func (s *Source) textVariant(v schema.Violation, b *schema.Block, part bool) (code, kind string, params []any) {
	code, unit, reason := v.Code, v.Params["unit"], v.Params["reason"]
	switch {
	case b != nil && b.Type == schema.TypeRanking && code != schema.CodeRequired:
		return code, "ranking", nil
	case code == upload.CodeSize:
		most := s.Host.MaxFile
		if b != nil {
			most = s.Host.MaxFileBytes(formblock.Properties(b))
		}
		return code, "", []any{"size", words.ToMegabytes(most)}
	case code == upload.CodeTotal:
		return code, "", []any{"size", words.ToMegabytes(s.Host.MaxVisit)}
	case code == schema.CodeRequired:
		return code, s.requiredVariant(b, part), nil
	case code == schema.CodeBadFormat:
		format, _ := v.Params["format"].(string)
		return code, formatWords[format], nil
	case code == schema.CodeWrongType && (v.Params["type"] == "number" || v.Params["type"] == "integer"):
		return code, "number", nil
	case code == schema.CodeTooLong && unit == "characters":
		return code, "max", []any{"max", v.Params["limit"]}
	case code == schema.CodeTooMany && unit == "choices":
		return code, "max", []any{"max", v.Params["max"]}
	case code == schema.CodeTooMany && unit == "files":
		return upload.CodeCount, "", nil
	case code == schema.CodeTooFew && unit == "choices":
		return code, "min", []any{"min", v.Params["min"]}
	case code == schema.CodeOutOfRange && unit == "bytes" && v.Params["max"] == nil:
		return upload.CodeEmpty, "", nil
	case code == schema.CodeOutOfRange && unit == "bytes":
		most, _ := v.Params["max"].(json.Number)
		n, _ := most.Float64()
		return upload.CodeSize, "", []any{"size", words.ToMegabytes(int64(n))}
	case code == schema.CodeOutOfRange:
		kind, params = s.rangeVariant(v)
		return code, kind, params
	case code == schema.CodeNotAllowed && (reason == "weekday" || reason == "date"):
		if days := s.formatAllowedDays(v.Params["allowed"]); days != "" {
			return code, "of", []any{"days", days}
		}
		return code, "date", nil
	case code == schema.CodeNotAllowed && reason == "text_changed":
		return code, "text", nil
	case code == schema.CodeNotAllowed && (reason == "file_type" || reason == "picture"):
		return upload.CodeType, "", nil
	}
	return code, "", nil
}

func (s *Source) requiredVariant(b *schema.Block, part bool) string {
	switch {
	case b == nil:
		return ""
	case s.Host.CannotAnswer(&schema.Block{Type: b.Type, Required: true}):
		return "unavailable"
	case part:
		return "part"
	}
	days := len(formblock.Properties(b).SpecificDates)
	switch shape := b.AnswerShape(); {
	case shape == schema.ShapeMatrix, shape == schema.ShapePayment, b.Type == schema.TypeLegal:
		return b.Type
	case shape == schema.ShapeChoice, shape == schema.ShapeChoices, shape == schema.ShapeBoolean,
		shape == schema.ShapeDate && days > 0 && days <= formblock.MaxRenderedChoices(b.Type),
		b.Type == schema.TypeCountry, formblock.IsButtonScale(b):
		return "choice"
	case formblock.TakesFile(b): // Without file storage, no one can upload a file.
		return "file"
	}
	return ""
}

func (s *Source) formatAllowedDays(allowed any) string {
	var names []string
	switch days := allowed.(type) {
	case []int:
		return s.Words.FormatWeekdays(days)
	case []string:
		for _, day := range days {
			names = append(names, s.Words.FormatDate(day))
		}
	}
	return s.Words.JoinList(names)
}

// rangeVariant selects the text for a value outside a minimum or maximum.
func (s *Source) rangeVariant(v schema.Violation) (kind string, params []any) {
	low, hasLow := v.Params["min"]
	high, hasHigh := v.Params["max"]
	prefix := ""
	for _, bound := range []*any{&low, &high} {
		if day, ok := (*bound).(string); ok {
			prefix, *bound = "date_", s.Words.FormatDate(day)
		}
	}
	return prefix + words.BoundsSuffix(hasLow, hasHigh), []any{"min", low, "max", high}
}

// ViolationPart returns the last element of a JSON Pointer into an answer, or "" if it points to the whole answer.
func ViolationPart(pointer string) string {
	parts := strings.Split(pointer, "/")
	if len(parts) < 4 {
		return ""
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[3])
}
