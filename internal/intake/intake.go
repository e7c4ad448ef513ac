// Package intake accepts submissions: it loads the cached form, checks the answers, computes the path, and creates
// the record and the event for webhooks.
package intake

import (
	"fmt"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/storage"
)

// ErrDraft wraps ErrNotFound and explains the likely cause to hosts.
var ErrDraft = fmt.Errorf("formsvc: form is a draft; publish it with Client.PublishForm: %w", storage.ErrNotFound)

// Intake accepts submissions. It is safe for concurrent use.
type Intake struct {
	core              *core.Core
	forms             *cache.Cache[storage.ID, *CompiledForm] // shared with copies from On
	startDispatch     func() (to storage.DirectDispatcher, stored func())
	includeRespondent bool // whether events contain the respondent
	inHostTransaction bool // whether the Intake was created by On
}

// New returns an Intake with an empty cache. The Intake calls startDispatch before it stores a submission with an
// event, and calls the function stored, which startDispatch returned, afterward. includeRespondent determines whether
// events contain the respondent.
func New(c *core.Core, startDispatch func() (to storage.DirectDispatcher, stored func()), includeRespondent bool) Intake {
	return Intake{core: c, forms: new(cache.Cache[storage.ID, *CompiledForm]), startDispatch: startDispatch, includeRespondent: includeRespondent}
}

// InHostTransaction returns a copy that uses c, whose storage is a host's transaction.
func (i Intake) InHostTransaction(c *core.Core) Intake {
	i.core, i.inHostTransaction = c, true
	return i
}

// Input holds the parts of a submission that are checked against the form.
type Input = answers.Input

// SubmitParams is a respondent's submission. Package formsvc documents its fields.
type SubmitParams struct {
	Input
	FormID         storage.ID
	Respondent     string
	Metadata       Metadata
	Language       string
	CompletionTime float64
	IdempotencyKey string
	OneContent     bool
	Partial        string
	SubmittedAt    time.Time
	Deliver        bool
}
