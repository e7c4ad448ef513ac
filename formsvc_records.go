package formsvc

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/formsvc/formsvc/schema"
)

// Answer is one answer of a stored response as a Go value. Package schema has the kinds
// of values, for a type switch.
//
//	ID    string
//	Type  string
//	Label string
//	JSON  json.RawMessage
//	Value schema.Value
type Answer = schema.Answer

// DecodeAnswers returns the answers of a stored response in the order of the form, hidden
// fields and variables last. Those that the respondent left out are absent.
func DecodeAnswers(s Submission) ([]Answer, error) {
	answers, err := schema.DecodeAnswers(s.Answers)
	if err != nil {
		return nil, fmt.Errorf("formsvc: submission %s: %w", s.ID, err)
	}
	return answers, nil
}

// FormContent is the definition of a form as Go values.
type FormContent struct {
	Blocks       []schema.Block
	Settings     schema.Settings
	Theme        schema.Theme
	Variables    map[string]any // float64 or string
	HiddenFields []string
}

// DecodeForm returns the definition of a form as [Client.Form] returns it. Lists have
// forms without their definitions: to decode one of those is an error.
func DecodeForm(f Form) (content FormContent, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("formsvc: form %s: %w", f.ID, err)
		}
	}()
	d := f.Definition
	if d.Blocks == nil && d.Settings == nil && d.Theme == nil {
		return FormContent{}, errors.New("it comes from a list, which has no definitions: read it with Client.Form")
	}
	if content.Blocks, err = schema.DecodeBlocks(d.Blocks); err != nil {
		return FormContent{}, err
	}
	if content.Settings, err = schema.DecodeSettings(d.Settings); err != nil {
		return FormContent{}, err
	}
	if content.Theme, err = schema.DecodeTheme(d.Theme); err != nil {
		return FormContent{}, err
	}
	if len(d.Variables) > 0 {
		if err = json.Unmarshal(d.Variables, &content.Variables); err != nil {
			return FormContent{}, err
		}
	}
	if len(d.HiddenFields) > 0 {
		if err = json.Unmarshal(d.HiddenFields, &content.HiddenFields); err != nil {
			return FormContent{}, err
		}
	}
	return content, nil
}
