package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Answer is one stored answer: that of a block, of a hidden field (Type is [TypeHidden]) or of a variable
// ([TypeVariable]). Type and Label are those that the field had when the response was stored.
type Answer struct {
	ID    string
	Type  string
	Label string
	// JSON is the value as it is stored.
	JSON json.RawMessage
	// Value is the same as a Go value, for a type switch.
	Value Value
}

// String returns the value as a person reads it, on one line where that is possible.
func (a Answer) String() string { return a.Value.String() }

// Value is what was answered: a [Text], [Number], [Bool], [Date], [Picks], [Matrix], [Files], [Contact], [Payment] or
// [Other].
type Value interface {
	fmt.Stringer
	value()
}

type (
	// Text is the answer to short_text, long_text, email, phone, website, country and time, the value of a hidden field,
	// and that of a variable that holds text.
	Text string

	// Number is the answer to number, rating, opinion_scale and nps, and the value of a variable that holds a number.
	// [Answer].JSON has the number as it is stored: without digits that a float64 does not tell apart.
	Number float64

	// Bool is the answer to yes_no and legal.
	Bool bool

	// Date is the answer to date. With a time its location is the offset that was sent, else it is UTC.
	Date struct {
		Time    time.Time
		HasTime bool
	}

	// Picks is the answer to single_choice, dropdown, multiple_choice, picture_choice and, in the respondent's order, to
	// ranking.
	Picks []Pick

	// Matrix is the answer to matrix: the rows that were answered, in the form's order.
	Matrix []MatrixRow

	// Files is the answer to file_upload, and with one file to signature.
	Files []File

	// Other is the JSON of a value that is none of the others: an older or newer release stored it, or the host did.
	Other string
)

// Pick is one choice that was made.
type Pick struct {
	ID    string `json:"id"`    // empty for a text of the respondent's own
	Label string `json:"label"` // of the choice when it was made
	Other string `json:"other"` // the respondent's own text
}

// MatrixRow is one row of a matrix with what was chosen in it.
type MatrixRow struct {
	ID    string
	Picks Picks
}

// File is one file that the host stored.
type File struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	URL      string `json:"url"` // absolute, http or https: where the form's owner finds it
	MIMEType string `json:"mime_type"`
	Size     int64  `json:"size"` // bytes
}

// Contact is the answer to address and contact_info. Parts that were not given are empty.
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

// Payment is the answer to payment, as the host gave it.
type Payment struct {
	Amount    string `json:"amount"`   // a decimal number
	Currency  string `json:"currency"` // ISO 4217
	Status    string `json:"status"`
	Gateway   string `json:"gateway"`
	Reference string `json:"reference"`
}

func (Text) value()    {}
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
func (v Text) String() string { return string(v) }

// String returns the shortest digits that mean the number.
func (v Number) String() string { return strconv.FormatFloat(float64(v), 'f', -1, 64) }

// String returns true or false.
func (v Bool) String() string { return strconv.FormatBool(bool(v)) }

// String returns the day, and the time with its offset where there is one.
func (v Date) String() string {
	if v.HasTime {
		return v.Time.Format(time.RFC3339)
	}
	return v.Time.Format(time.DateOnly)
}

// String returns the label, the id where the choice has no label, or the respondent's own text.
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

// String returns the id of each row with its choices.
func (v Matrix) String() string { return joinText(v, "; ") }

// String returns the row's id and its choices.
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

// ContactPart is one part of an address or contact with the name that it has in JSON.
type ContactPart struct{ Name, Text string }

// members are the parts with their names in JSON, in the order in which they are stored.
func (v *Contact) members() []member {
	return []member{
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

// Parts returns all parts in the order in which they are stored, empty ones too.
func (v Contact) Parts() []ContactPart {
	members := v.members()
	parts := make([]ContactPart, len(members))
	for i, m := range members {
		parts[i] = ContactPart{m.name, *m.into}
	}
	return parts
}

// String returns the parts that were given, separated by commas.
func (v Contact) String() string {
	var given []string
	for _, p := range v.Parts() {
		if p.Text != "" {
			given = append(given, p.Text)
		}
	}
	return strings.Join(given, ", ")
}

// String returns amount, currency and status.
func (v Payment) String() string { return v.Amount + " " + v.Currency + " " + v.Status }

// String returns the JSON.
func (v Other) String() string { return string(v) }
