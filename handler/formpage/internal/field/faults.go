package field

import (
	"encoding/json"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/upload"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// FaultText words a fault for the person who typed. The library's own sentence is
// English, so it is only used for a code that the catalogue does not know. The block is nil
// when the form has none; part says that the fault is one of a part of it.
func (s *Source) FaultText(v schema.Violation, b *schema.Block, part bool) string {
	code, kind, params := s.faultKind(v, b, part)
	for _, key := range []string{"fault." + code + "." + kind, "fault." + code} {
		if _, known := s.Words.Texts[key]; known {
			return s.Words.Get(key, params...)
		}
	}
	return v.Message
}

// formatWords are the texts for what [schema.CodeParams] calls a format.
var formatWords = map[string]string{
	"email": "email", "phone": "phone", "international_phone": "phone", "url": "website",
	"date": "date", "date-time": "date", "time": "time",
}

// faultKind returns the catalogue's text that fits a fault, with the parameters of the
// violation.
func (s *Source) faultKind(v schema.Violation, b *schema.Block, part bool) (code, kind string, params []any) {
	if b != nil && b.Type == schema.TypeRanking && v.Code != schema.CodeRequired {
		return v.Code, "ranking", nil
	}
	switch v.Code {
	case upload.CodeSize:
		most := s.Host.MaxFile
		if b != nil {
			most = s.Host.FileSize(formblock.Properties(b))
		}
		return v.Code, "", []any{"size", words.Megabytes(most)}
	case upload.CodeTotal:
		return v.Code, "", []any{"size", words.Megabytes(s.Host.MaxVisit)}
	case schema.CodeRequired:
		return v.Code, s.requiredKind(b, part), nil
	case schema.CodeBadFormat:
		format, _ := v.Params["format"].(string)
		return v.Code, formatWords[format], nil
	case schema.CodeWrongType:
		if v.Params["type"] == "number" || v.Params["type"] == "integer" {
			return v.Code, "number", nil
		}
	case schema.CodeTooLong:
		if v.Params["unit"] == "characters" {
			return v.Code, "max", []any{"max", v.Params["limit"]}
		}
	case schema.CodeTooMany:
		switch v.Params["unit"] {
		case "choices":
			return v.Code, "max", []any{"max", v.Params["max"]}
		case "files":
			return upload.CodeCount, "", nil
		}
	case schema.CodeTooFew:
		if v.Params["unit"] == "choices" {
			return v.Code, "min", []any{"min", v.Params["min"]}
		}
	case schema.CodeOutOfRange:
		return s.rangeKind(v)
	case schema.CodeNotAllowed:
		switch v.Params["reason"] {
		case "weekday", "date":
			if days := s.allowedDays(v.Params["allowed"]); days != "" {
				return v.Code, "of", []any{"days", days}
			}
			return v.Code, "date", nil
		case "file_type", "picture":
			return upload.CodeType, "", nil
		}
	}
	return v.Code, "", nil
}

// requiredKind says what kind of answer is missing.
func (s *Source) requiredKind(b *schema.Block, part bool) string {
	switch {
	case b == nil:
		return ""
	case s.Host.CannotGive(&schema.Block{Type: b.Type, Required: true}):
		return "unavailable"
	case part:
		return "part"
	}
	switch b.AnswerShape() {
	case schema.ShapeMatrix, schema.ShapePayment:
		return b.Type
	case schema.ShapeChoice, schema.ShapeChoices:
		return "choice"
	case schema.ShapeBoolean:
		if b.Type == schema.TypeLegal {
			return b.Type
		}
		return "choice"
	case schema.ShapeText:
		if b.Type == schema.TypeCountry {
			return "choice"
		}
	case schema.ShapeDate:
		if n := len(formblock.Properties(b).SpecificDates); n > 0 && n <= formblock.MaxDrawn(b.Type) {
			return "choice"
		}
	case schema.ShapeNumber, schema.ShapeInteger:
		if formblock.IsButtonScale(b) {
			return "choice"
		}
	case schema.ShapeFiles, schema.ShapeFile:
		if s.Host.Files {
			return "file"
		}
	}
	return ""
}

// allowedDays names the days that a fault says can be chosen, or the days of the week.
func (s *Source) allowedDays(allowed any) string {
	var names []string
	switch days := allowed.(type) {
	case []int:
		return s.Words.Weekdays(days)
	case []string:
		for _, day := range days {
			names = append(names, s.Words.Date(day))
		}
	}
	return s.Words.List(names)
}

// rangeKind is faultKind for bounds of numbers and of days.
func (s *Source) rangeKind(v schema.Violation) (code, kind string, params []any) {
	if v.Params["unit"] == "bytes" {
		most, _ := v.Params["max"].(json.Number)
		n, _ := most.Float64()
		return upload.CodeSize, "", []any{"size", words.Megabytes(int64(n))}
	}
	low, hasLow := v.Params["min"]
	high, hasHigh := v.Params["max"]
	prefix := ""
	for _, bound := range []*any{&low, &high} {
		if day, ok := (*bound).(string); ok {
			prefix, *bound = "date_", s.Words.Date(day)
		}
	}
	return v.Code, prefix + words.Bounds(hasLow, hasHigh), []any{"min", low, "max", high}
}

// FaultPart is the last part of a JSON Pointer that goes into an answer, "" for the
// answer itself.
func FaultPart(pointer string) string {
	parts := strings.Split(pointer, "/")
	if len(parts) < 4 {
		return ""
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[3])
}
