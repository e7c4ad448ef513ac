package formpage

import (
	"encoding/json"

	"github.com/formsvc/formsvc/schema"
)

// codeKnown is the page's own code for an answer that must be new and is not.
const codeKnown = "KNOWN"

// faultText words a fault for the person who typed. The library's own sentence is
// English, so it is only used for a code that the catalogue does not know.
func (c *call) faultText(v schema.Violation, f *field) string {
	code, kind, params := c.faultKind(v, f)
	for _, key := range []string{"fault." + code + "." + kind, "fault." + code} {
		if c.words.has(key) {
			return c.words.get(key, params...)
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
// those of the violation. f is the field of the fault, nil when the page has none.
func (c *call) faultKind(v schema.Violation, f *field) (code, kind string, params []any) {
	if f != nil && f.Type == schema.TypeRanking && v.Code != schema.CodeRequired {
		return v.Code, "ranking", nil
	}
	switch v.Code {
	case codeFileSize:
		most := c.h.config.MaxFileSize
		if f != nil {
			most = c.h.maxFile(f.P)
		}
		return v.Code, "", []any{"size", megabytes(most)}
	case codeFileTotal:
		return v.Code, "", []any{"size", megabytes(c.h.config.MaxVisitFiles)}
	case schema.CodeRequired:
		return v.Code, c.requiredKind(f), nil
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
func (c *call) requiredKind(f *field) string {
	switch {
	case f == nil:
		return ""
	case c.h.cannotGive(&schema.Block{Type: f.Type, Required: true}):
		return "unavailable"
	case f.Type == schema.TypePayment:
		return "payment"
	case f.Type == "":
		return "part" // of a contact
	case f.Type == schema.TypeLegal:
		return "legal"
	}
	switch f.Kind {
	case "choices", "select", "scale", "icons":
		return "choice"
	case "matrix":
		return "matrix"
	case "files", "signature":
		return "file"
	}
	return ""
}

// allowedDays names the days that a fault says can be chosen, or the days of the week.
func (c *call) allowedDays(allowed any) string {
	var names []string
	switch days := allowed.(type) {
	case []int:
		return c.words.weekdays(days)
	case []string:
		for _, day := range days {
			names = append(names, c.words.date(day))
		}
	}
	return c.words.list(names)
}

// rangeKind is faultKind for bounds of numbers and of days.
func (c *call) rangeKind(v schema.Violation) (code, kind string, params []any) {
	if v.Params["unit"] == "bytes" {
		if most, ok := v.Params["max"].(json.Number); ok {
			if n, err := most.Float64(); err == nil {
				return codeFileSize, "", []any{"size", megabytes(int64(n))}
			}
		}
		return codeFileSize, "", nil
	}
	low, hasLow := v.Params["min"]
	high, hasHigh := v.Params["max"]
	prefix := ""
	for _, bound := range []*any{&low, &high} {
		if day, ok := (*bound).(string); ok {
			prefix, *bound = "date_", c.words.date(day)
		}
	}
	switch {
	case hasLow && hasHigh:
		return v.Code, prefix + "between", []any{"min", low, "max", high}
	case hasLow:
		return v.Code, prefix + "min", []any{"min", low}
	case hasHigh:
		return v.Code, prefix + "max", []any{"max", high}
	}
	return v.Code, "", nil
}
