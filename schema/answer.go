package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// TypeVariable is the field type of a variable in a list of answers: a rule of the form
// set it. It is not a block type.
const TypeVariable = "variable"

// Answer is one stored answer: that of a block, of a hidden field (Type is [TypeHidden])
// or of a variable ([TypeVariable]). Type and Label are those that the field had when the
// response was stored.
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

// Value is what was answered: a [Text], [Number], [Bool], [Date], [Picks], [Matrix],
// [Files], [Contact], [Payment] or [Other].
type Value interface {
	fmt.Stringer
	value()
}

type (
	// Text is the answer to short_text, long_text, email, phone, website, country and
	// time, the value of a hidden field, and that of a variable that holds text.
	Text string

	// Number is the answer to number, rating, opinion_scale and nps, and the value of a
	// variable that holds a number. [Answer].JSON has
	// the number as it is stored: without digits that a float64 does not tell apart.
	Number float64

	// Bool is the answer to yes_no and legal.
	Bool bool

	// Date is the answer to date. With a time its location is the offset that was sent,
	// else it is UTC.
	Date struct {
		Time    time.Time
		HasTime bool
	}

	// Picks is the answer to single_choice, dropdown, multiple_choice, picture_choice
	// and, in the respondent's order, to ranking.
	Picks []Pick

	// Matrix is the answer to matrix: the rows that were answered, in the form's order.
	Matrix []MatrixRow

	// Files is the answer to file_upload, and with one file to signature.
	Files []File

	// Other is the JSON of a value that is none of the others: an older or newer release
	// stored it, or the host did.
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

// String returns the label, the id where the choice has no label, or the respondent's
// own text.
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
func (v Picks) String() string { return joined(v, ", ") }

// String returns the id of each row with its choices.
func (v Matrix) String() string { return joined(v, "; ") }

// String returns the row's id and its choices.
func (r MatrixRow) String() string { return r.ID + ": " + r.Picks.String() }

// String returns the names of the files, separated by commas.
func (v Files) String() string { return joined(v, ", ") }

// String returns the file's name.
func (f File) String() string { return f.Name }

func joined[T fmt.Stringer](list []T, separator string) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.String()
	}
	return strings.Join(texts, separator)
}

// ContactPart is one part of an address or contact with the name that it has in JSON.
type ContactPart struct{ Name, Text string }

// contactNames are the parts of an address or contact in the order in which they are
// stored.
var contactNames = []string{"firstName", "lastName", "email", "phone", "company", "address", "address2", "city", "state", "zip", "country"}

// Parts returns all parts in the order in which they are stored, empty ones too.
func (v Contact) Parts() []ContactPart {
	texts := []string{v.FirstName, v.LastName, v.Email, v.Phone, v.Company, v.Address, v.Address2, v.City, v.State, v.Zip, v.Country}
	parts := make([]ContactPart, len(texts))
	for i, text := range texts {
		parts[i] = ContactPart{contactNames[i], text}
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

// DecodeAnswers reads the answers of a stored response, in their order. A value that its
// field's type does not explain is an [Other]. An error means that raw is not what this
// library stores.
func DecodeAnswers(raw json.RawMessage) ([]Answer, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	list := stored(raw)
	if list.kind() != '[' {
		return nil, fmt.Errorf("schema: decode stored answers: %w", errStored)
	}
	answers := make([]Answer, 0, 16)
	err := list.each(func(_ string, item stored) error {
		var a Answer
		var value stored
		err := item.each(func(name string, member stored) (err error) {
			switch name {
			case "field":
				_, err = member.texts(func(name string) *string {
					return place(name, []string{"id", "type", "label"}, &a.ID, &a.Type, &a.Label)
				})
			case "value":
				value = member
			}
			return err
		})
		a.JSON, a.Value = json.RawMessage(value), decodeValue(a.Type, value)
		answers = append(answers, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("schema: decode stored answers: %w", err)
	}
	return answers, nil
}

// place returns the place of a name among names.
func place(name string, names []string, places ...*string) *string {
	for i, n := range names {
		if n == name {
			return places[i]
		}
	}
	return nil
}

// decodeValue goes by the shape of the JSON first, because a block may have had another
// type when an older response was stored.
func decodeValue(fieldType string, v stored) Value {
	var value Value
	var err error
	switch kind := v.kind(); {
	case kind == '"':
		value, err = decodeText(fieldType, v)
	case v == "true", v == "false":
		value = Bool(v == "true")
	case kind == '-', '0' <= kind && kind <= '9':
		var x float64
		x, err = v.number()
		value = Number(x)
	case kind == '[' && fieldType == TypeFileUpload:
		value, err = decodeFiles(v)
	case kind == '[':
		value, err = decodePicks(v)
	case kind != '{':
		return Other(v)
	case fieldType == TypeMatrix:
		value, err = decodeMatrix(v)
	case fieldType == TypeAddress, fieldType == TypeContactInfo:
		value, err = decodeContact(v)
	case fieldType == TypePayment:
		value, err = decodePayment(v)
	case fieldType == TypeSignature:
		var f File
		f, err = decodeFile(v)
		value = Files{f}
	default:
		var p Pick
		p, err = decodePick(v)
		value = Picks{p}
	}
	if err != nil {
		return Other(v)
	}
	return value
}

func decodeText(fieldType string, v stored) (Value, error) {
	text, err := v.text()
	if err != nil || fieldType != TypeDate {
		return Text(text), err
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return Date{Time: t}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return Date{Time: t, HasTime: true}, nil
	}
	return Text(text), nil
}

func decodePick(v stored) (p Pick, err error) {
	found, err := v.texts(func(name string) *string {
		return place(name, []string{"id", "label", "other"}, &p.ID, &p.Label, &p.Other)
	})
	return p, anyOf(found, err)
}

// anyOf refuses an object that has none of the members that were looked for.
func anyOf(found bool, err error) error {
	if err == nil && !found {
		return errStored
	}
	return err
}

func decodePicks(v stored) (picks Picks, err error) {
	picks = Picks{}
	err = v.each(func(_ string, value stored) error {
		p, err := decodePick(value)
		picks = append(picks, p)
		return err
	})
	return picks, err
}

func decodeMatrix(v stored) (rows Matrix, err error) {
	rows = Matrix{}
	err = v.each(func(name string, value stored) error {
		row := MatrixRow{ID: name}
		var err error
		if value.kind() == '[' {
			row.Picks, err = decodePicks(value)
		} else {
			row.Picks = make(Picks, 1)
			row.Picks[0], err = decodePick(value)
		}
		rows = append(rows, row)
		return err
	})
	return rows, err
}

func decodeFiles(v stored) (files Files, err error) {
	files = Files{}
	err = v.each(func(_ string, value stored) error {
		f, err := decodeFile(value)
		files = append(files, f)
		return err
	})
	return files, err
}

func decodeFile(v stored) (f File, err error) {
	found := false
	err = v.each(func(name string, value stored) (err error) {
		if name == "size" {
			var x float64
			x, err = value.number()
			f.Size = int64(x)
		} else if text := place(name, []string{"id", "name", "url", "mime_type"}, &f.ID, &f.Name, &f.URL, &f.MIMEType); text != nil {
			*text, err = value.text()
			found = true
		}
		return err
	})
	return f, anyOf(found, err)
}

func decodeContact(v stored) (c Contact, err error) {
	found, err := v.texts(func(name string) *string {
		return place(name, contactNames, &c.FirstName, &c.LastName, &c.Email, &c.Phone, &c.Company, &c.Address, &c.Address2, &c.City,
			&c.State, &c.Zip, &c.Country)
	})
	return c, anyOf(found, err)
}

func decodePayment(v stored) (p Payment, err error) {
	found, err := v.texts(func(name string) *string {
		return place(name, []string{"amount", "currency", "status", "gateway", "reference"},
			&p.Amount, &p.Currency, &p.Status, &p.Gateway, &p.Reference)
	})
	return p, anyOf(found, err)
}
