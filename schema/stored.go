package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// errStored means that an answer or a part of an answer is not in the stored format.
var errStored = errors.New("not in the stored JSON format")

// DecodeAnswers decodes the answers of a stored submission, in order. A value that does not match its type is decoded
// as an [Other]. DecodeAnswers returns an error if raw is not in the stored format.
func DecodeAnswers(raw json.RawMessage) ([]Answer, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	// Summaries and exports decode up to a million submissions, and jsontree is faster than encoding/json.
	tree, err := jsontree.Parse(raw, jsontree.Limits{})
	if err != nil {
		return nil, fmt.Errorf("schema: decode stored answers: %w", err)
	}
	defer tree.Release()
	list := tree.Root()
	if list.Kind() != jsontree.Array {
		return nil, fmt.Errorf("schema: decode stored answers: %w", errStored)
	}
	answers := make([]Answer, list.Len())
	for i, item := range list.All() {
		a, value := &answers[i], item.Member("value")
		err := decodeTexts(item.Member("field"), textField{"id", &a.ID}, textField{"type", &a.Type}, textField{"label", &a.Label}, textField{"text", &a.LegalText})
		if err != nil || !value.Exists() {
			return nil, fmt.Errorf("schema: decode stored answers: %w", errStored)
		}
		a.JSON, a.Value = json.RawMessage(value.Raw()), decodeValue(a.Type, value)
	}
	return answers, nil
}

// textField is a JSON field that contains a text, and the variable to decode it into.
type textField struct {
	name   string
	target *string
}

// decodeTexts decodes text fields of an object, at least one of which must exist. Null becomes an empty string.
func decodeTexts(n jsontree.Node, fields ...textField) error {
	found := false
	for _, f := range fields {
		value := n.Member(f.name)
		if value.Kind() != jsontree.String && value.Kind() != jsontree.Null {
			return errStored
		}
		*f.target = value.Text()
		found = found || value.Exists()
	}
	if !found {
		return errStored
	}
	return nil
}

// decodeValue decodes a value by its JSON type. It uses fieldType only if several Go types match.
func decodeValue(fieldType string, n jsontree.Node) Value {
	var value Value
	var err error
	switch n.Kind() {
	case jsontree.String:
		return decodeText(fieldType, n.Text())
	case jsontree.Bool:
		return Bool(n.Bool())
	case jsontree.Number:
		return Number(n.Float())
	case jsontree.Null:
		return Other(n.Raw())
	}
	k, _ := LookupBlockType(fieldType)
	switch list := n.Kind() == jsontree.Array; {
	case list && k.Shape == ShapeFiles:
		value, err = decodeList[Files](n, decodeFile)
	case list:
		value, err = decodeList[Picks](n, decodePick)
	case k.Shape == ShapeMatrix:
		value, err = decodeList[Matrix](n, decodeRow)
	case k.Shape == ShapeContact:
		var c Contact
		err = decodeTexts(n, c.textFields()...)
		value = c
	case k.Shape == ShapePayment:
		var p Payment
		err = decodeTexts(n, textField{"amount", &p.Amount}, textField{"currency", &p.Currency}, textField{"status", &p.Status},
			textField{"gateway", &p.Gateway}, textField{"reference", &p.Reference})
		value = p
	case k.Shape == ShapeFile:
		var f File
		f, err = decodeFile(n)
		value = Files{f}
	default:
		var p Pick
		p, err = decodePick(n)
		value = Picks{p}
	}
	if err != nil {
		return Other(n.Raw())
	}
	return value
}

// decodeList decodes all items of an array or all fields of an object.
func decodeList[L ~[]T, T any](n jsontree.Node, decode func(jsontree.Node) (T, error)) (L, error) {
	list := make(L, n.Len())
	for i, item := range n.All() {
		var err error
		if list[i], err = decode(item); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func decodeText(fieldType, text string) Value {
	if fieldType != TypeDate {
		return String(text)
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return Date{Time: t}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return Date{Time: t, HasTime: true}
	}
	return String(text)
}

func decodePick(n jsontree.Node) (p Pick, err error) {
	err = decodeTexts(n, textField{"id", &p.ID}, textField{"label", &p.Label}, textField{"other", &p.Other})
	return p, err
}

func decodeRow(n jsontree.Node) (row MatrixRow, err error) {
	row.ID = n.Name()
	if n.Kind() == jsontree.Array {
		row.Picks, err = decodeList[Picks](n, decodePick)
		return row, err
	}
	row.Picks = make(Picks, 1)
	row.Picks[0], err = decodePick(n)
	return row, err
}

func decodeFile(n jsontree.Node) (f File, err error) {
	size := n.Member("size")
	if size.Exists() && size.Kind() != jsontree.Number {
		return f, errStored
	}
	f.Size = int64(size.Float())
	err = decodeTexts(n, textField{"id", &f.ID}, textField{"name", &f.Name}, textField{"url", &f.URL}, textField{"mime_type", &f.MIMEType})
	return f, err
}
