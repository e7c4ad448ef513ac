package core

import "github.com/formsvc/formsvc/internal/answers"

// What package formsvc and the respondents' pages say of the way through a form.
type (
	// Path is the way that a respondent takes through a form, as far as the answers
	// that were given say.
	Path = answers.Path
	// PathBlock is one block on a path.
	PathBlock = answers.PathBlock
)
