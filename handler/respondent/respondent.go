// Package respondent has what the service and a page that respondents see exchange: a
// published form, and a response to it. Package formsvc and package handler/formpage have
// other names for these types, so that the page needs no import of the service.
package respondent

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// ErrClosed says that a form takes no more responses.
var ErrClosed = errors.New("formsvc: the form is closed")

// ErrKeyUsed says that another response is stored with the idempotency key.
var ErrKeyUsed = errors.New("formsvc: another response has this idempotency key")

// PublicForm is a published form as a page for respondents needs it, both as it
// is stored and decoded. Slices and maps in it are shared: they are only read.
type PublicForm struct {
	ID                   storage.ID
	PublicID, Name, Type string
	// Closed: Service.Submit would return [ErrClosed] now.
	Closed        bool
	ClosedMessage string // settings.closedMessage
	Definition    storage.Definition
	Blocks        []schema.Block
	Settings      schema.Settings
	Theme         schema.Theme
}

// Response is what a respondent submits.
type Response struct {
	FormID storage.ID
	// Answers come from the respondent, by block id. Their shapes are in the
	// README; what is left out is unanswered.
	Answers map[string]json.RawMessage
	// HostAnswers come from the host, by block id: payment, file_upload, signature and
	// any block with properties.hide. Only the host may say these, or respondents forge
	// them.
	HostAnswers map[string]json.RawMessage
	// Hidden are the hidden fields, of at most 10,000 characters each. Control characters
	// are refused. Names that the form does not declare are dropped.
	Hidden   map[string]string
	Metadata Metadata
	// CompletionTime is how long the respondent took, in seconds.
	CompletionTime float64
	// IdempotencyKey names this attempt within the form: a repeated Submit returns
	// the first result, whatever its content. Empty: none. At most 255 bytes.
	IdempotencyKey string
	// OneContent says that the IdempotencyKey stands for this content: a repeated Submit
	// whose answers or hidden fields would be stored as others is [ErrKeyUsed].
	OneContent bool
	// SubmittedAt says when a response was submitted that the host imports from
	// elsewhere, in whole seconds. A time to come is refused. Zero: it is submitted now.
	SubmittedAt time.Time
	// Deliver queues an event for an imported response too. It is as old as its import:
	// webhooks.Config.MaxAge counts from then. It has no meaning while SubmittedAt is
	// zero.
	Deliver bool
}

// Metadata is what is known about where a response came from. Control characters are
// refused; values that are longer than 1,000 characters are cut. Of UTM the keys campaign, content, medium,
// source and term are kept.
type Metadata struct {
	Country, Device, UserAgent string
	UTM                        map[string]string
}
