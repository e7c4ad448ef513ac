package formpage

import (
	"encoding/json"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// codeKnown is the page's own code for an answer that must be new and is not.
const codeKnown = "KNOWN"

// faultText words a fault for the person who typed. The library's own sentence is
// English, so it is only used for a code that the catalogue does not know. The block is nil
// when the form has none; part says that the fault is one of a part of it.
func (c *call) faultText(v schema.Violation, b *schema.Block, part bool) string {
	code, kind, params := c.faultKind(v, b, part)
	for _, key := range []string{"fault." + code + "." + kind, "fault." + code} {
		if _, known := c.words.Texts[key]; known {
			return c.words.Get(key, params...)
		}
	}
	return v.Message
}

// formatWords are the texts for what [schema.CodeParams] calls a format.
var formatWords = map[string]string{
	"email": "email", "phone": "phone", "international_phone": "phone", "url": "website",
	"date": "date", "date-time": "date", "time": "time",
}

// faultKind says which of the catalogue's texts fits a fault, and its parameters. They are
// those of the violation.
func (c *call) faultKind(v schema.Violation, b *schema.Block, part bool) (code, kind string, params []any) {
	if b != nil && b.Type == schema.TypeRanking && v.Code != schema.CodeRequired {
		return v.Code, "ranking", nil
	}
	switch v.Code {
	case codeFileSize:
		most := c.h.config.MaxFileSize
		if b != nil {
			most = c.h.maxFile(formblock.Properties(b))
		}
		return v.Code, "", []any{"size", words.Megabytes(most)}
	case codeFileTotal:
		return v.Code, "", []any{"size", words.Megabytes(c.h.config.MaxVisitFiles)}
	case schema.CodeRequired:
		return v.Code, c.requiredKind(b, part), nil
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
			return codeFileCount, "", nil
		}
	case schema.CodeTooFew:
		if v.Params["unit"] == "choices" {
			return v.Code, "min", []any{"min", v.Params["min"]}
		}
	case schema.CodeOutOfRange:
		return c.rangeKind(v)
	case schema.CodeNotAllowed:
		switch v.Params["reason"] {
		case "weekday", "date":
			if days := c.allowedDays(v.Params["allowed"]); days != "" {
				return v.Code, "of", []any{"days", days}
			}
			return v.Code, "date", nil
		case "file_type", "picture":
			return codeFileType, "", nil
		}
	}
	return v.Code, "", nil
}

// requiredKind says what kind of answer is missing.
func (c *call) requiredKind(b *schema.Block, part bool) string {
	switch {
	case b == nil:
		return ""
	case c.h.cannotGive(&schema.Block{Type: b.Type, Required: true}):
		return "unavailable"
	case part:
		return "part"
	}
	switch b.Type {
	case schema.TypeLegal, schema.TypeMatrix, schema.TypePayment:
		return b.Type
	case schema.TypeYesNo, schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice, schema.TypeDropdown, schema.TypeCountry:
		return "choice"
	case schema.TypeDate:
		if n := len(formblock.Properties(b).SpecificDates); n > 0 && n <= mostDays {
			return "choice"
		}
	case schema.TypeRating, schema.TypeOpinionScale, schema.TypeNPS:
		if formblock.IsButtonScale(b) {
			return "choice"
		}
	case schema.TypeFileUpload, schema.TypeSignature:
		if c.files() != nil {
			return "file"
		}
	}
	return ""
}

// allowedDays names the days that a fault says can be chosen, or the days of the week.
func (c *call) allowedDays(allowed any) string {
	var names []string
	switch days := allowed.(type) {
	case []int:
		return c.words.Weekdays(days)
	case []string:
		for _, day := range days {
			names = append(names, c.words.Date(day))
		}
	}
	return c.words.List(names)
}

// rangeKind is faultKind for bounds of numbers and of days.
func (c *call) rangeKind(v schema.Violation) (code, kind string, params []any) {
	if v.Params["unit"] == "bytes" {
		if most, ok := v.Params["max"].(json.Number); ok {
			if n, err := most.Float64(); err == nil {
				return codeFileSize, "", []any{"size", words.Megabytes(int64(n))}
			}
		}
		return codeFileSize, "", nil
	}
	low, hasLow := v.Params["min"]
	high, hasHigh := v.Params["max"]
	prefix := ""
	for _, bound := range []*any{&low, &high} {
		if day, ok := (*bound).(string); ok {
			prefix, *bound = "date_", c.words.Date(day)
		}
	}
	return v.Code, prefix + bounds(hasLow, hasHigh), []any{"min", low, "max", high}
}
