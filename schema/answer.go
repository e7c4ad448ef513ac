package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Answer is the stored value of a block, a hidden field (Type is [TypeHidden]) or a variable ([TypeVariable]). Type and
// Label are as they were when the answer was submitted.
type Answer struct {
	ID    string
	Type  string
	Label string
	// LegalText is the text that a legal block showed, without formats. If Value is true, the respondent accepted it. A
	// link is written as "text (https://…)".
	LegalText string
	JSON      json.RawMessage // the stored value
	Value     Value           // JSON as a Go value, for a type switch
}

// String returns the value as readable text, on one line unless the answer contains line breaks. It returns "" for the
// zero Answer, which a [CheckInput] has for a group.
func (a Answer) String() string {
	if a.Value == nil {
		return ""
	}
	return a.Value.String()
}

// Value is a decoded value: a [String], [Number], [Bool], [Date], [Picks], [Matrix], [Files], [Contact],
// [Payment] or [Other].
type Value interface {
	fmt.Stringer
	value()
}

type (
	// String is an answer to a short_text, long_text, email, phone, website, country or time block, or the value of a
	// hidden field or a text variable.
	String string

	// Number is an answer to a number, rating, opinion_scale or nps block, or the value of a numeric variable. Stored
	// numbers have no more precision than a float64.
	Number float64

	// Bool is an answer to a yes_no or legal block.
	Bool bool

	// Date is an answer to a date block. If HasTime is set, Time has the offset that was sent. Otherwise it is in UTC.
	Date struct {
		Time    time.Time
		HasTime bool
	}

	// Picks is an answer to a single_choice, dropdown, multiple_choice, picture_choice or ranking block. The choices of
	// a ranking are in the respondent's order.
	Picks []Pick

	// Matrix is an answer to a matrix block. It contains the answered rows in the form's order.
	Matrix []MatrixRow

	// Files is an answer to a file_upload block, or to a signature block, where it contains one file.
	Files []File

	// Other is the JSON of a value that does not match its type, because the host or another release stored the value.
	Other string
)

// Pick is one selected choice, or the text of an “Other” answer.
type Pick struct {
	ID    string `json:"id"`    // empty for an “Other” answer
	Label string `json:"label"` // the choice's label when the submission was stored
	Other string `json:"other"` // the text of an “Other” answer
}

// MatrixRow contains the choices selected in one row.
type MatrixRow struct {
	ID    string
	Picks Picks
}

// File describes a file that the host stores.
type File struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	URL      string `json:"url"` // an absolute http or https URL for the form's owner
	MIMEType string `json:"mime_type"`
	Size     int64  `json:"size"` // bytes
}

// Contact is an answer to an address or contact_info block. Parts that the respondent left out are empty.
type Contact struct {
	FirstName string `json:"firstName"`
	LastName  string `json:"lastName"`
	Email     string `json:"email"`
	Phone     string `json:"phone"`
	Company   string `json:"company"`
	Address   string `json:"address"`
	Address2  string `json:"address2"`
	City      string `json:"city"`
	State     string `json:"state"`
	Zip       string `json:"zip"`
	Country   string `json:"country"`
}

// Payment is an answer to a payment block. The host provides it.
type Payment struct {
	Amount    string `json:"amount"`   // a decimal number
	Currency  string `json:"currency"` // ISO 4217
	Status    string `json:"status"`
	Gateway   string `json:"gateway"`
	Reference string `json:"reference"`
}

func (String) value()  {}
func (Number) value()  {}
func (Bool) value()    {}
func (Date) value()    {}
func (Picks) value()   {}
func (Matrix) value()  {}
func (Files) value()   {}
func (Contact) value() {}
func (Payment) value() {}
func (Other) value()   {}

// String returns the text.
func (v String) String() string { return string(v) }

// String returns the number in the shortest decimal notation.
func (v Number) String() string { return strconv.FormatFloat(float64(v), 'f', -1, 64) }

// String returns "true" or "false".
func (v Bool) String() string { return strconv.FormatBool(bool(v)) }

// String returns the day, or an RFC 3339 time if HasTime is set.
func (v Date) String() string {
	if v.HasTime {
		return v.Time.Format(time.RFC3339)
	}
	return v.Time.Format(time.DateOnly)
}

// String returns the text of an “Other” answer, or the choice's label, or its ID if it has no label.
func (p Pick) String() string {
	switch {
	case p.ID == "":
		return p.Other
	case p.Label == "":
		return p.ID
	}
	return p.Label
}

// String returns the choices, separated by commas.
func (v Picks) String() string { return joinText(v, ", ") }

// String returns the ID and the selected choices of each row.
func (v Matrix) String() string { return joinText(v, "; ") }

// String returns the row's ID and its selected choices.
func (r MatrixRow) String() string { return r.ID + ": " + r.Picks.String() }

// String returns the names of the files, separated by commas.
func (v Files) String() string { return joinText(v, ", ") }

// String returns the file's name.
func (f File) String() string { return f.Name }

func joinText[T fmt.Stringer](list []T, separator string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.String()
	}
	return strings.Join(texts, separator)
}

// ContactPart is one part of an address or contact. Name is the part's JSON name.
type ContactPart struct{ Name, Text string }

// textFields returns the JSON names of the parts and pointers to their fields, in stored order.
func (v *Contact) textFields() []textField {
	return []textField{
		{"firstName", &v.FirstName},
		{"lastName", &v.LastName},
		{"email", &v.Email},
		{"phone", &v.Phone},
		{"company", &v.Company},
		{"address", &v.Address},
		{"address2", &v.Address2},
		{"city", &v.City},
		{"state", &v.State},
		{"zip", &v.Zip},
		{"country", &v.Country},
	}
}

// Parts returns all parts in stored order, including empty parts.
func (v Contact) Parts() []ContactPart {
	fields := v.textFields()
	parts := make([]ContactPart, len(fields))
	for i, f := range fields {
		parts[i] = ContactPart{f.name, *f.target}
	}
	return parts
}

// String returns the parts that are not empty, separated by commas.
func (v Contact) String() string {
	var parts []string
	for _, p := range v.Parts() {
		if p.Text != "" {
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, ", ")
}

// String returns the amount, the currency and the status, separated by spaces.
func (v Payment) String() string { return v.Amount + " " + v.Currency + " " + v.Status }

// String returns the JSON.
func (v Other) String() string { return string(v) }
