package read

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Sent is what a front end sends.
type Sent struct {
	State   string                     `json:"state"`
	Answers map[string]json.RawMessage `json:"answers"` // as Service.Submit takes them
	Hidden  map[string]string          `json:"hidden"`
	UTM     map[string]string          `json:"utm"`
	Captcha string                     `json:"captcha"` // what a refusal returned, and the widget's token
	Took    float64                    `json:"took"`    // seconds since the first input
}

// members are the members of a [Sent].
var members = []string{"state", "answers", "hidden", "utm", "captcha", "took"}

// JSON reads the body of a front end, as strictly as the API does. Its members must be of the
// right kinds; null is as good as none. What may not be there is wrong: members of other
// names, and more answers or texts than the form has inputs. The error of a body that is too
// large is [ErrTooLarge].
func JSON(body io.Reader, most Bounds) (in Sent, wrong []schema.Violation, err error) {
	raw, complete, err := readAll(body, most.Bytes)
	if !complete {
		return in, nil, ErrTooLarge
	}
	if err != nil {
		return in, nil, err
	}
	tree, err := jsontree.Parse(raw, jsontree.BodyBounds)
	if err != nil {
		return in, nil, err
	}
	defer tree.Release()
	if tree.Root().Kind() != jsontree.Object {
		return in, nil, errors.New("the body is no object")
	}
	for _, member := range tree.Root().All() {
		var fault schema.Violation
		switch {
		case !slices.Contains(members, member.Name()):
			fault = schema.Violation{Code: schema.CodeUnknownField, Message: "is not a known member"}
		case member.Len() > most.Inputs:
			fault = schema.Violation{Code: schema.CodeTooMany, Message: "must have at most " + strconv.Itoa(most.Inputs) + " members"}
		default:
			continue
		}
		if fault.Path = member.Pointer(""); len(wrong) < schema.MaxViolations {
			wrong = append(wrong, fault)
		}
	}
	if len(wrong) > 0 {
		return in, wrong, nil
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, nil, err
	}
	if in.Answers == nil {
		in.Answers = map[string]json.RawMessage{}
	}
	for name, text := range in.Hidden {
		in.Hidden[name] = Cleaned(text)
	}
	return in, nil, nil
}
