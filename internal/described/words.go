package described

import (
	"fmt"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/apidoc"
	"github.com/formsvc/formsvc/internal/jsonshape"
	"github.com/formsvc/formsvc/internal/jsontree"
)

// words is what the description says of bodies in words. Schemas could say it with
// if and then, which generators of clients and validating proxies do not read.
type words struct {
	codes   map[string]int // x-error-codes: the status of each code
	answers map[string]answerShapes
}

// answerShapes are the shapes that the answers of one type have. A picture_choice
// has one for an array and one for a single choice.
type answerShapes struct{ one, list *Schema }

// answerComponents are the components for the types of answers.
var answerComponents = map[string]string{
	"short_text": "TextAnswer", "long_text": "TextAnswer", "email": "TextAnswer", "phone": "TextAnswer",
	"website": "TextAnswer", "country": "TextAnswer", "hidden": "TextAnswer",
	"number": "NumberAnswer", "opinion_scale": "NumberAnswer", "rating": "IntegerAnswer", "nps": "IntegerAnswer",
	"yes_no": "BooleanAnswer", "legal": "BooleanAnswer",
	"single_choice": "ChoiceAnswer", "dropdown": "ChoiceAnswer", "picture_choice": "ChoiceAnswer",
	"multiple_choice": "ChoicesAnswer", "ranking": "RankingAnswer", "matrix": "MatrixAnswer",
	"date": "DateAnswer", "time": "TimeAnswer", "file_upload": "FilesAnswer", "signature": "FileAnswer",
	"address": "AddressAnswer", "contact_info": "AddressAnswer", "payment": "PaymentAnswer", "variable": "VariableValue",
}

func readWords(d *jsonshape.Document, c *Compiler) (*words, error) {
	w := &words{codes: make(map[string]int), answers: make(map[string]answerShapes)}
	for _, code := range d.Root().Member("x-error-codes").All() {
		w.codes[code.Name()] = int(code.Float())
	}
	for kind, component := range answerComponents {
		one, err := c.component(component)
		if err != nil {
			return nil, err
		}
		w.answers[kind] = answerShapes{one, one}
	}
	list, err := c.component("ChoicesAnswer")
	if err != nil {
		return nil, err
	}
	w.answers["picture_choice"] = answerShapes{w.answers["single_choice"].one, list}
	return w, nil
}

// check looks through a body for what the words are about. A body fits its schema
// by now, so members are of their types.
func (w *words) check(n jsontree.Node) error {
	if n.Kind() == jsontree.Object {
		switch {
		case n.Member("has_more").Exists():
			if n.Member("has_more").Bool() != (n.Member("next_cursor").Kind() == jsontree.String) {
				return fmt.Errorf("%s: next_cursor is null when has_more is false, and only then", n.Pointer(""))
			}
		case n.Member("field").Exists() && n.Member("value").Exists():
			if err := w.answer(n); err != nil {
				return err
			}
		}
	}
	for _, inner := range n.All() {
		if err := w.check(inner); err != nil {
			return err
		}
	}
	return nil
}

// answer holds the value of an answer against the shape of its type. A type that
// answers of blocks do not have says nothing of its value.
func (w *words) answer(n jsontree.Node) error {
	kind, value := n.Member("field").Member("type").Text(), n.Member("value")
	shapes, ok := w.answers[kind]
	if !ok {
		return nil
	}
	shape := shapes.one
	if value.Kind() == jsontree.Array {
		shape = shapes.list
	}
	if err := shape.Check(value); err != nil {
		return fmt.Errorf("the answer of type %s: %w", kind, err)
	}
	if kind == "date" && !isDate(value.Text()) {
		return fmt.Errorf("the answer of type date: %q is not a date", value.Text())
	}
	return nil
}

// isDate reports whether a text is YYYY-MM-DD or an RFC 3339 time.
func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	_, ok := jsontree.ParseTime(text)
	return err == nil || ok
}

// failure holds an error against its status and against the codes of its response.
func (w *words) failure(n jsontree.Node, codes []string) error {
	code, status, kind := n.Member("code").Text(), int(n.Member("status").Float()), n.Member("type").Text()
	switch {
	case w.codes[code] != status:
		return fmt.Errorf("the code %s belongs to status %d, not to %d", code, w.codes[code], status)
	case kind != apidoc.ErrorType(status):
		return fmt.Errorf("type is %s, with status %d it is %s", kind, status, apidoc.ErrorType(status))
	case n.Member("details").Exists() && kind != "validation_error":
		return fmt.Errorf("details with type %s: only validation errors have them", kind)
	case codes != nil && !slices.Contains(codes, code):
		return fmt.Errorf("the code %s is not one of this response: %v", code, codes)
	}
	return nil
}
