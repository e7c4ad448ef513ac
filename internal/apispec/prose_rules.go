package apispec

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/apidoc"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// proseRules holds rules that the API description states only in prose. Schemas for them would need "if" and "then",
// which client generators and validating proxies do not support.
type proseRules struct {
	codes   map[string]int // x-error-codes: the status of each code
	answers map[string]answerShapes
}

// answerShapes holds the schemas for answers of one type. A picture_choice answer can be one choice or a list.
type answerShapes struct{ one, list *Schema }

func readProseRules(d jsontree.Node, c *Compiler) (*proseRules, error) {
	w := &proseRules{codes: make(map[string]int), answers: make(map[string]answerShapes)}
	for _, code := range d.Member("x-error-codes").All() {
		w.codes[code.Name()] = int(code.Float())
	}
	add := func(typ string, one, list schema.AnswerShape) (err error) {
		var shapes answerShapes
		if shapes.one, err = c.compileComponent(string(one)); err == nil {
			shapes.list, err = c.compileComponent(string(list))
		}
		w.answers[typ] = shapes
		return err
	}
	errs := []error{
		add(schema.TypeHidden, schema.ShapeText, schema.ShapeText),
		add(schema.TypeVariable, "VariableValue", "VariableValue"),
	}
	for k := range schema.BlockTypes() {
		if !k.TakesAnswer() {
			continue
		}
		several := schema.Block{Type: k.Type, Properties: &schema.Properties{MultiSelection: true}}
		errs = append(errs, add(k.Type, k.Shape, several.AnswerShape()))
	}
	return w, errors.Join(errs...)
}

func (w *proseRules) check(n jsontree.Node) error {
	if n.Kind() == jsontree.Object {
		switch {
		case n.Member("has_more").Exists():
			if n.Member("has_more").Bool() != (n.Member("next_cursor").Kind() == jsontree.String) {
				return fmt.Errorf("%s: next_cursor must be null exactly when has_more is false", n.Pointer(""))
			}
		case n.Member("field").Exists() && n.Member("value").Exists():
			if err := w.checkAnswer(n); err != nil {
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

// checkAnswer checks an answer's value against the shape of its type. Types without a shape allow any value.
func (w *proseRules) checkAnswer(n jsontree.Node) error {
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
		return fmt.Errorf("answer of type %s: %w", kind, err)
	}
	if kind == schema.TypeDate && !isDate(value.Text()) {
		return fmt.Errorf("answer of type date: %q is not a date", value.Text())
	}
	return nil
}

func isDate(text string) bool {
	_, err := time.Parse(time.DateOnly, text)
	_, ok := jsontree.ParseTime(text)
	return err == nil || ok
}

func (w *proseRules) checkError(n jsontree.Node, codes []string) error {
	code, status, kind := n.Member("code").Text(), int(n.Member("status").Float()), n.Member("type").Text()
	switch {
	case w.codes[code] != status:
		return fmt.Errorf("the code %s belongs to status %d, not to %d", code, w.codes[code], status)
	case kind != apidoc.ErrorType(status):
		return fmt.Errorf("type is %s, but for status %d it must be %s", kind, status, apidoc.ErrorType(status))
	case n.Member("details").Exists() && kind != "validation_error":
		return fmt.Errorf("an error of type %s has details, but only validation errors can have details", kind)
	case codes != nil && !slices.Contains(codes, code):
		return fmt.Errorf("the code %s is not declared for this response: %v", code, codes)
	}
	return nil
}
