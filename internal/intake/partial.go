package intake

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const (
	// partialDays is for how many days a half response is kept after its last save.
	partialDays = 30
	// maxPartials bounds the half responses of a form, since everybody who sees its page can
	// make any number of them: with the default of Limits.Partial they take 640 MB at most. A
	// form on which 300 people a day give up, and keep it for a month, does not come near.
	maxPartials = 10_000
)

// Partial is a response that a respondent saves half-way. Package formsvc documents its fields.
type Partial struct {
	FormID          storage.ID
	Token           string
	Answers         map[string]json.RawMessage
	Hidden          map[string]string
	Metadata        Metadata
	Block           string
	Seconds         float64
	Revision        int64
	Share           bool
	SavedAt, EndsAt time.Time
	SubmissionID    storage.ID
}

// hashOf is what the storage knows a token by. Texts that are no token have one too, so that
// all that are unknown take the same way.
func hashOf(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// SavePartial saves a half response. Package formsvc documents it.
func (i Intake) SavePartial(ctx context.Context, r *Partial) (token string, dropped []string, err error) {
	ctx = timeout.Share(ctx)
	// Read, never cached: nothing would show that a cached form lacks the newest questions.
	f, known, err := i.Form(ctx, r.FormID)
	if err != nil {
		return "", nil, err
	}
	now := i.core.Clock().UTC()
	switch {
	case f.Status != storage.StatusPublished:
		return "", nil, storage.ErrNotFound
	case f.IsClosed(now):
		return "", nil, ErrClosed
	}
	kept, err := known.answers.Keep(r.Answers, r.Hidden)
	var tooLong error
	if limit := i.core.Limits.Partial; len(kept.Answers)+len(kept.Hidden) > limit {
		tooLong = faults.One("", schema.CodeTooLong, "the answers would take more than "+strconv.Itoa(limit)+" bytes", "limit", limit, "unit", "bytes")
	}
	if err := faults.Join(err, tooLong, checkMetadata(r.Metadata), checkSeconds("/seconds", r.Seconds)); err != nil {
		return "", nil, err
	}
	p := storage.SavePartialParams{
		Partial: storage.Partial{
			FormID: r.FormID, Answers: kept.Answers, Hidden: kept.Hidden, Metadata: encodeMetadata(r.Metadata),
			Seconds: r.Seconds, Shared: r.Share, SavedAt: now, EndsAt: i.endOfPartial(now),
		},
		IfRevision: r.Revision, Max: maxPartials,
	}
	if slices.ContainsFunc(known.Blocks, func(b schema.Block) bool { return b.ID == r.Block }) {
		p.Partial.Block = r.Block
	}
	if token = r.Token; token == "" {
		var secret [16]byte
		rand.Read(secret[:]) // never fails, says its documentation
		token = base64.RawURLEncoding.EncodeToString(secret[:])
		p.New, p.Partial.ID = true, i.core.NewID(now)
	}
	p.Token = hashOf(token)
	_, err = i.core.Storage.SavePartial(ctx, p)
	if errors.Is(err, storage.ErrConflict) && !p.New {
		err = ErrSent
	}
	if err != nil {
		return "", nil, core.Supported(err)
	}
	return token, kept.Dropped, nil
}

// endOfPartial is the end of the day, in the service's zone, that comes partialDays after a save.
func (i Intake) endOfPartial(saved time.Time) time.Time {
	zone := cmp.Or(i.core.TimeZone, time.UTC)
	year, month, day := saved.In(zone).Date()
	return time.Date(year, month, day+partialDays+1, 0, 0, 0, 0, zone).UTC()
}

// ResumePartial returns a half response. Package formsvc documents it.
func (i Intake) ResumePartial(ctx context.Context, form storage.ID, token string) (Partial, error) {
	ctx = timeout.Share(ctx)
	f, err := i.core.Storage.Form(ctx, storage.AsHost(), form)
	if err == nil && f.Status != storage.StatusPublished {
		err = storage.ErrNotFound
	}
	if err != nil {
		return Partial{}, err
	}
	p, err := i.core.Storage.Partial(ctx, form, hashOf(token), i.core.Clock().UTC())
	if err != nil {
		return Partial{}, core.Supported(err)
	}
	r := Partial{
		FormID: form, Token: token, Block: p.Block, Seconds: p.Seconds, Revision: p.Revision, Share: p.Shared,
		SavedAt: p.SavedAt, EndsAt: p.EndsAt, SubmissionID: p.SubmissionID,
	}
	if !p.SubmissionID.IsZero() {
		return r, ErrSent
	}
	var broken error
	r.Metadata, broken = decodeMetadata(p.Metadata)
	if err := errors.Join(json.Unmarshal(p.Answers, &r.Answers), json.Unmarshal(p.Hidden, &r.Hidden), broken); err != nil {
		return Partial{}, fmt.Errorf("formsvc: half response %s: %w", p.ID, err)
	}
	return r, nil
}

// ForgetPartial removes a half response. Package formsvc documents it.
func (i Intake) ForgetPartial(ctx context.Context, form storage.ID, token string) error {
	_, _, err := i.core.Storage.DeletePartials(ctx, storage.AsHost(), form, storage.DeletePartialsParams{Token: hashOf(token), Max: 1})
	return core.Supported(err)
}
