package export

import (
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

const separator = "; "

// part is a part of a value with its own column. The name is empty for the whole value. The label defaults to the name.
type part struct{ name, label string }

const otherPart = "other"

// textPart is the column for the text of a legal block.
var textPart = part{name: "text"}

// choicePartName returns the name of a choice's column. The ID can be empty or "other", or start with "choice:".
func choicePartName(id string) string {
	if id == otherPart || strings.HasPrefix(id, "choice:") {
		return "choice:" + id
	}
	return id
}

// emitCells calls emit for each cell of an answer. plain is true if neither a respondent nor a user can choose the text
// freely.
func emitCells(a *schema.Answer, o Options, emit func(p part, text string, plain bool)) {
	switch v := a.Value.(type) {
	case schema.Number:
		emit(part{}, string(a.JSON), true)
	case schema.Bool:
		emit(part{}, v.String(), true)
		if a.LegalText != "" {
			emit(textPart, a.LegalText, false)
		}
	case schema.String:
		emit(part{}, string(v), a.Type == schema.TypePhone && isE164(string(v)))
	case schema.Date:
		emit(part{}, strings.Trim(string(a.JSON), `"`), true) // the time as stored, with its UTC offset
	case schema.Picks:
		if o.SplitColumns && isList(a) {
			emitPicks(a.Type, v, o, emit)
			return
		}
		emit(part{}, joinPicks(v, o), false)
	case schema.Matrix:
		for _, row := range v {
			emit(part{name: row.ID}, joinPicks(row.Picks, o), false)
		}
	case schema.Files:
		emitFiles(a, v, o, emit)
	case schema.Contact:
		for _, p := range v.Parts() {
			if p.Text != "" {
				emit(part{name: p.Name}, p.Text, p.Name == "phone" && isE164(p.Text))
			}
		}
	case schema.Payment:
		emit(part{name: "amount"}, v.Amount, isDecimal(v.Amount))
		emit(part{name: "currency"}, v.Currency, false)
		emit(part{name: "status"}, v.Status, false)
		emit(part{name: "gateway"}, v.Gateway, false)
		emit(part{name: "reference"}, v.Reference, false)
	case schema.Other:
		emit(part{}, string(v), false)
	}
}

func isList(a *schema.Answer) bool { return len(a.JSON) > 0 && a.JSON[0] == '[' }

// emitPicks writes each choice to its own column. For a ranking, each cell contains the choice's position, starting at
// 1.
func emitPicks(fieldType string, picks schema.Picks, o Options, emit func(part, string, bool)) {
	var others []string
	for i, p := range picks {
		switch {
		case p.ID == "":
			others = append(others, p.Other)
		case fieldType == schema.TypeRanking:
			emit(part{choicePartName(p.ID), p.Label}, strconv.Itoa(i+1), true)
		default:
			emit(part{choicePartName(p.ID), p.Label}, pickText(p, o), false)
		}
	}
	if others != nil {
		emit(part{name: otherPart}, strings.Join(others, separator), false)
	}
}

func joinPicks(picks schema.Picks, o Options) string {
	if len(picks) == 1 {
		return pickText(picks[0], o)
	}
	texts := make([]string, len(picks))
	for i, p := range picks {
		texts[i] = pickText(p, o)
	}
	return strings.Join(texts, separator)
}

func pickText(p schema.Pick, o Options) string {
	if o.ChoiceIDs && p.ID != "" {
		return p.ID
	}
	return p.String()
}

// emitFiles writes the names and URLs of files. Several files get separate columns if o.SplitColumns is set. Otherwise
// they share cells.
func emitFiles(a *schema.Answer, files schema.Files, o Options, emit func(part, string, bool)) {
	if o.SplitColumns && isList(a) {
		for i, f := range files {
			number := strconv.Itoa(i + 1)
			emit(part{name: number + "/name"}, f.Name, false)
			emit(part{name: number + "/url"}, f.URL, false)
		}
		return
	}
	names, urls := make([]string, len(files)), make([]string, len(files))
	for i, f := range files {
		names[i], urls[i] = f.Name, f.URL
	}
	emit(part{name: "name"}, strings.Join(names, separator), false)
	emit(part{name: "url"}, strings.Join(urls, separator), false)
}

func blockParts(b *schema.Block, o Options) (parts []part) {
	properties := b.Properties
	if properties == nil {
		properties = new(schema.Properties)
	}
	switch b.AnswerShape() {
	case "":
	case schema.ShapeChoices, schema.ShapeRanking:
		if !o.SplitColumns {
			return []part{{}}
		}
		for _, c := range b.Choices {
			parts = append(parts, part{choicePartName(c.ID), c.Label})
		}
		if properties.OtherOption {
			parts = append(parts, part{name: otherPart})
		}
	case schema.ShapeMatrix:
		for _, row := range b.MatrixRows {
			parts = append(parts, part{row.ID, row.Label})
		}
	case schema.ShapeContact:
		for _, p := range (schema.Contact{}).Parts() {
			if !properties.AddressOrContact.Part(p.Name).Hide {
				parts = append(parts, part{name: p.Name})
			}
		}
	case schema.ShapeFiles:
		if o.SplitColumns {
			return []part{{name: "1/name"}, {name: "1/url"}}
		}
		return []part{{name: "name"}, {name: "url"}}
	case schema.ShapeFile:
		return []part{{name: "name"}, {name: "url"}}
	case schema.ShapePayment:
		return []part{{name: "amount"}, {name: "currency"}, {name: "status"}, {name: "gateway"}, {name: "reference"}}
	default:
		parts = append(parts, part{})
		if properties.LegalText != "" && b.Type == schema.TypeLegal {
			parts = append(parts, textPart)
		}
	}
	return parts
}

// isE164 reports whether a phone number has the format in which valid phone numbers are stored.
func isE164(s string) bool {
	return len(s) >= 3 && len(s) <= 16 && s[0] == '+' && isDigits(s[1:])
}

func isDecimal(s string) bool {
	whole, fraction, dot := strings.Cut(s, ".")
	return isDigits(whole) && (!dot || isDigits(fraction))
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
