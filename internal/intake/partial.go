package intake

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const (
	// PartialDays is the number of days that a half response is kept after its last save.
	PartialDays = 30
	// maxPartials bounds the half responses of a form, since everybody who sees its page can
	// make any number of them: with the default of Limits.Partial they take 640 MB at most. A
	// form on which 300 people a day give up, and keep it for a month, does not come near.
	maxPartials = 10_000
)

// hashToken is what the storage knows a token by. Texts that are no token have one too, so that
// all that are unknown take the same way.
func hashToken(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// newToken is the token of the partial submission that a visit to a form creates: since a token
// belongs to at most one, so does a visit.
func newToken(form storage.ID, visit string) string {
	if visit == "" {
		visit = rand.Text()
	}
	sum := sha256.Sum256([]byte("formsvc visit " + form.String() + " " + visit))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// SavePartial saves a partial submission. Package formsvc documents it. Of p it takes FormID,
// Revision, Block, Seconds, Shared, Verified and LinkIssued.
func (i Intake) SavePartial(ctx context.Context, token, visit string, p storage.Partial, in Input, m Metadata) (_ string, dropped []string, err error) {
	ctx = timeout.WithBudget(ctx)
	// Read, never cached: nothing would show that a cached form lacks the newest questions.
	f, known, err := i.Form(ctx, p.FormID)
	if err != nil {
		return "", nil, err
	}
	now := i.core.Clock().UTC()
	switch {
	case f.Status != storage.StatusPublished:
		return "", nil, storage.ErrNotFound
	case f.IsClosed(now):
		return "", nil, schema.ErrClosed
	}
	kept, err := known.answers.Retain(in.Answers, in.Hidden)
	var tooLong error
	if limit := i.core.Limits.Partial; len(kept.Answers)+len(kept.Hidden) > limit {
		tooLong = violation.New("", schema.CodeTooLong, "the answers exceed "+strconv.Itoa(limit)+" bytes", "limit", limit, "unit", "bytes")
	}
	if err := violation.Join(err, tooLong, checkMetadata(m), checkSeconds("/seconds", p.Seconds)); err != nil {
		return "", nil, err
	}
	if !slices.ContainsFunc(known.Blocks, func(b schema.Block) bool { return b.ID == p.Block }) {
		p.Block = ""
	}
	p.Answers, p.Hidden, p.Metadata = kept.Answers, kept.Hidden, encodeMetadata(m)
	p.SavedAt, p.EndsAt = now, i.partialExpiry(now)
	fresh := token == ""
	if fresh {
		token, p.ID = newToken(p.FormID, visit), i.core.NewID(now)
	}
	_, err = i.core.Storage.SavePartial(ctx, storage.SavePartialParams{
		Partial: p, Token: hashToken(token), New: fresh, IfRevision: p.Revision, Max: maxPartials,
	})
	switch taken := errors.Is(err, storage.ErrConflict); {
	case taken && !fresh:
		err = schema.ErrAlreadySubmitted
	case taken:
		if p, _, _, err = i.ResumePartial(ctx, p.FormID, token); err == nil {
			return token, nil, &storage.RevisionError{Current: p.Revision, Kind: "partial"}
		}
	}
	if err != nil {
		return "", nil, core.AsUnsupported(err)
	}
	return token, kept.Dropped, nil
}

// partialExpiry is the end of the day, in the service's zone, that comes PartialDays after a save.
func (i Intake) partialExpiry(saved time.Time) time.Time {
	zone := cmp.Or(i.core.TimeZone, time.UTC)
	year, month, day := saved.In(zone).Date()
	return time.Date(year, month, day+PartialDays+1, 0, 0, 0, 0, zone).UTC()
}

// ResumePartial returns a half response, and what is in it. Package formsvc documents it.
func (i Intake) ResumePartial(ctx context.Context, form storage.ID, token string) (p storage.Partial, in Input, m Metadata, err error) {
	ctx = timeout.WithBudget(ctx)
	f, err := i.core.Storage.Form(ctx, storage.AsHost(), form)
	if err == nil && f.Status != storage.StatusPublished {
		err = storage.ErrNotFound
	}
	if err == nil {
		p, err = i.core.Storage.Partial(ctx, form, hashToken(token), i.core.Clock().UTC())
	}
	switch {
	case err != nil:
		return storage.Partial{}, in, m, core.AsUnsupported(err)
	case !p.SubmissionID.IsZero():
		return p, in, m, schema.ErrAlreadySubmitted
	}
	in, err = core.DecodePartial(&p)
	return p, in, m, errors.Join(err, json.Unmarshal(p.Metadata, &m))
}

// DeletePartial removes a half response. Package formsvc documents it.
func (i Intake) DeletePartial(ctx context.Context, form storage.ID, token string) error {
	_, _, err := i.core.Storage.DeletePartials(ctx, storage.AsHost(), form, storage.DeletePartialsParams{Token: hashToken(token), Max: 1})
	return core.AsUnsupported(err)
}
