package formsvc

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/formsvc/formsvc/schema"
)

type (
	// Path is the way that a respondent takes through a form, as far as the answers
	// that were given say.
	//
	//	Blocks    []PathBlock
	//	Ending    string
	//	Variables map[string]any
	//	Faults    []schema.Violation
	Path = schema.Path
	// PathBlock is one block on a path.
	//
	//	ID       string
	//	Required bool
	PathBlock = schema.PathBlock
)

// Path returns the way through a form for answers that may be incomplete: which
// blocks a page shows, which of them must be answered, which ending follows, and the
// variables. [Service.Submit] walks the same path, so an answer to a block that is
// not on it is dropped.
//
// The answers are the respondent's and the host's. An answer to a block that only the
// host can answer (a payment, a file, a signature, or a block with properties.hide)
// counts as the host's, so the path is that of a Submit with it in HostAnswers. A host
// that passes on what a respondent sent leaves out such answers. A form that is a draft or closed has paths too.
//
// Errors: [ErrNotFound] when there is no such form; an [*Error] when its rules
// would take too long. What is wrong with an answer is not an error here, see
// Path.Faults.
func (s *Service) Path(ctx context.Context, formID ID, answers map[string]json.RawMessage, hidden map[string]string) (Path, error) {
	// Read, never cached: nothing would show that a cached form is out of date.
	form, err := s.readForm(ctx, formID)
	if err != nil {
		return Path{}, err
	}
	path, err := form.answers.Path(answers, hidden)
	if err != nil {
		return Path{}, fmt.Errorf("formsvc: form %s: %w", formID, err)
	}
	return path, nil
}

// Warnings returns the warnings of a stored form, see [Service.Warnings].
func (c Client) Warnings(ctx context.Context, form ID) (schema.Warnings, error) {
	f, err := c.Form(ctx, form)
	if err != nil {
		return nil, err
	}
	return c.s.Warnings(f.Definition)
}
