package formpage

import "github.com/formsvc/formsvc/schema"

// codeKnown is the page's own code for an answer that must be new and is not.
const codeKnown = "KNOWN"

// faultText words a fault for the person who typed. The library's own sentence is
// English, so it is only used for a code that the catalogue does not know.
func (c *call) faultText(v schema.Violation, f *field) string {
	kind, params := c.faultKind(v, f)
	for _, key := range []string{"fault." + v.Code + "." + kind, "fault." + v.Code} {
		if c.words.has(key) {
			return c.words.get(key, params...)
		}
	}
	return v.Message
}

// faultKind says which of the texts of a code fits a field, and its parameters. They
// are those of the block: whatever the service checks is in its definition.
func (c *call) faultKind(v schema.Violation, f *field) (kind string, params []any) {
	if f == nil {
		return "", nil
	}
	if f.Type == "" { // a part of a contact
		if v.Code == schema.CodeRequired {
			return "part", nil
		}
		return f.Block, nil
	}
	if f.Type == schema.TypeRanking && v.Code != schema.CodeRequired {
		return "ranking", nil
	}
	p := f.P
	switch v.Code {
	case codeFileSize:
		return "", []any{"size", float64(max(1, c.h.config.MaxFileSize>>20))}
	case schema.CodeRequired:
		switch f.Kind {
		case "choices", "select", "scale", "icons":
			if f.Type == schema.TypeLegal {
				return "legal", nil
			}
			return "choice", nil
		case "matrix":
			return "matrix", nil
		case "files", "signature":
			return "file", nil
		}
	case schema.CodeBadFormat, schema.CodeWrongType:
		switch f.Type {
		case schema.TypeNumber, schema.TypeRating, schema.TypeOpinionScale, schema.TypeNPS:
			return "number", nil
		}
		return f.Type, nil
	case schema.CodeTooLong:
		if f.MaxChars > 0 {
			return "max", []any{"max", f.MaxChars}
		}
	case schema.CodeTooMany, schema.CodeTooFew:
		low, high := chosenBounds(p)
		if v.Code == schema.CodeTooMany && high > 0 {
			return "max", []any{"max", high}
		}
		if v.Code == schema.CodeTooFew && low > 0 {
			return "min", []any{"min", low}
		}
	case schema.CodeOutOfRange:
		return c.rangeKind(f, p)
	case schema.CodeNotAllowed:
		if f.Type == schema.TypeDate {
			return "date", nil
		}
	}
	return "", nil
}

func (c *call) rangeKind(f *field, p *schema.Properties) (kind string, params []any) {
	switch f.Type {
	case schema.TypeNumber:
		low, high := p.MinVal && p.Min != nil, p.MaxVal && p.Max != nil
		switch {
		case low && high:
			return "between", []any{"min", *p.Min, "max", *p.Max}
		case low:
			return "min", []any{"min", *p.Min}
		case high:
			return "max", []any{"max", *p.Max}
		}
	case schema.TypeOpinionScale, schema.TypeRating, schema.TypeNPS:
		low, high := or(p.From, 1), or(p.To, 10)
		switch f.Type {
		case schema.TypeRating:
			low, high = 1, or(p.To, 5)
		case schema.TypeNPS:
			low, high = 0, 10
		}
		return "between", []any{"min", low, "max", high}
	case schema.TypeDate:
		low, high := c.words.date(f.Min), c.words.date(f.Max)
		switch {
		case low != "" && high != "":
			return "date_between", []any{"min", low, "max", high}
		case low != "":
			return "date_min", []any{"min", low}
		case high != "":
			return "date_max", []any{"max", high}
		}
		return "date", nil
	}
	return "", nil
}
