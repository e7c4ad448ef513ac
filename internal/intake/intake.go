// Package intake processes a submission up to the storage. It loads the cached form, checks the answers,
// computes the path, and creates the record and the event for webhooks.
package intake

import (
	"fmt"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/storage"
)

// errDraft is an ErrNotFound that tells a host the likely cause.
var errDraft = fmt.Errorf("formsvc: the form is a draft, publish it with Client.PublishForm: %w", storage.ErrNotFound)

// Intake is safe for concurrent use.
type Intake struct {
	core              *core.Core
	forms             *cache.Cache[storage.ID, *CompiledForm] // shared with the copies that On makes
	startDispatch     func() (to storage.DirectDispatcher, stored func())
	inHostTransaction bool // made by On: the host commits or rolls back
}

// New returns an intake that knows no form yet. startDispatch is called for a response that is about
// to be stored with an event, and stored when it is.
func New(c *core.Core, handOver func() (to storage.DirectDispatcher, stored func())) Intake {
	return Intake{core: c, forms: new(cache.Cache[storage.ID, *CompiledForm]), startDispatch: handOver}
}

// On is the intake on another core, whose storage is a transaction of the host's.
func (i Intake) On(c *core.Core) Intake {
	i.core, i.inHostTransaction = c, true
	return i
}

// Input has the parts of a response that are checked by the form.
type Input = answers.Input

// Response is the response that a respondent submits. Package formsvc documents its
// fields.
type SubmitParams struct {
	Input
	FormID         storage.ID
	Metadata       Metadata
	CompletionTime float64
	IdempotencyKey string
	OneContent     bool
	Partial        string
	SubmittedAt    time.Time
	Deliver        bool
}
