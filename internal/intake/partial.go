package intake

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
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
	// PartialDays is how many days a partial submission is retained after its last save.
	PartialDays = 30
	// maxPartials limits a form's partial submissions, because anyone with the form page can create any number. With the
	// default Limits.Partial, they take at most 640 MB. A form with 300 partial submissions a day does not reach the limit
	// in a month.
	maxPartials = 10_000
)

// hashToken returns the key under which a token is stored. It accepts invalid tokens, which are then unknown.
func hashToken(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// partialKey returns the key of a respondent's only open partial submission to a form, or the key of a token if there is
// no respondent. Respondents can know each other's IDs, so no token has the key of a respondent: the hash differs.
func partialKey(form storage.ID, token, respondent string) [32]byte {
	if respondent == "" {
		return hashToken(token)
	}
	return sha512.Sum512_256([]byte("formsvc respondent " + form.String() + " " + respondent))
}

// deriveToken returns the token for a visit's partial submission. It always returns the same token for a visit, so that
// the visit creates at most one partial submission.
func deriveToken(form storage.ID, visit string) string {
	if visit == "" {
		visit = rand.Text()
	}
	sum := sha256.Sum256([]byte("formsvc visit " + form.String() + " " + visit))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// SavePartial saves a partial submission, as package formsvc documents. It uses only these fields of p: FormID,
// Revision, Block, Seconds, Shared, Verified, LinkIssued and Respondent.
func (i Intake) SavePartial(ctx context.Context, token, visit string, p storage.Partial, in Input, m Metadata) (_ string, dropped []string, err error) {
	ctx = timeout.WithBudget(ctx)
	// Bypass the cache, because a cached form may lack new questions.
	f, known, err := i.Form(ctx, p.FormID)
	if err != nil {
		return "", nil, err
	}
	badRespondent := core.CheckRespondent(p.Respondent)
	p.Respondent = known.knownRespondent(p.Respondent)
	now := i.core.Clock().UTC()
	switch {
	case f.Status != storage.StatusPublished:
		return "", nil, storage.ErrNotFound
	case f.IsClosed(now):
		return "", nil, schema.ErrClosed
	}
	retained, err := known.answers.Retain(in.Answers, in.Hidden, now)
	var tooLong error
	if limit := i.core.Limits.Partial; len(retained.Answers)+len(retained.Hidden) > limit {
		tooLong = violation.New("", schema.CodeTooLong, "the answers exceed "+strconv.Itoa(limit)+" bytes", "limit", limit, "unit", "bytes")
	}
	if err := violation.Join(err, tooLong, badRespondent, checkMetadata(m), checkSeconds("/seconds", p.Seconds)); err != nil {
		return "", nil, err
	}
	if !slices.ContainsFunc(known.Blocks, func(b schema.Block) bool { return b.ID == p.Block }) {
		p.Block = ""
	}
	p.Answers, p.Hidden, p.Metadata = retained.Answers, retained.Hidden, known.encodeMetadata(m)
	p.SavedAt, p.EndsAt = now, i.partialExpiry(now)
	if err := i.core.RequireRespondent(ctx, p.Respondent); err != nil {
		return "", nil, err
	}
	fresh := token == ""
	if p.Respondent != "" {
		token, fresh, p.LinkIssued = "", p.Revision == 0, true // the respondent can return without a link
	} else if fresh {
		token = deriveToken(p.FormID, visit)
	}
	if fresh {
		p.ID = i.core.NewID(now)
	}
	_, err = i.core.Storage.SavePartial(ctx, storage.SavePartialParams{
		Partial: p, Token: partialKey(p.FormID, token, p.Respondent), New: fresh, IfRevision: p.Revision, Max: maxPartials,
	})
	switch taken := errors.Is(err, storage.ErrConflict); {
	case taken && !fresh:
		err = schema.ErrAlreadySubmitted
	case taken:
		if p, _, _, err = i.ResumePartial(ctx, p.FormID, token, p.Respondent); err == nil {
			return token, nil, &storage.RevisionError{Current: p.Revision, Kind: "partial"}
		}
	}
	if err != nil {
		return "", nil, core.TranslateUnimplemented(err)
	}
	return token, retained.Dropped, nil
}

// partialExpiry returns the end of the last day of retention, in the service's time zone.
func (i Intake) partialExpiry(saved time.Time) time.Time {
	year, month, day := saved.In(i.core.TimeZone).Date()
	return time.Date(year, month, day+PartialDays+1, 0, 0, 0, 0, i.core.TimeZone).UTC()
}

// ResumePartial returns a partial submission and its content, as package formsvc documents. If respondent is not empty,
// it returns the respondent's partial submission.
func (i Intake) ResumePartial(ctx context.Context, form storage.ID, token, respondent string) (p storage.Partial, in Input, m Metadata, err error) {
	ctx = timeout.WithBudget(ctx)
	f, err := i.core.Storage.Form(ctx, storage.AsHost(), form)
	if err == nil && f.Status != storage.StatusPublished {
		err = storage.ErrNotFound
	}
	if err == nil {
		p, err = i.core.Storage.Partial(ctx, form, partialKey(form, token, respondent), i.core.Clock().UTC())
	}
	switch {
	case err != nil:
		return storage.Partial{}, in, m, core.TranslateUnimplemented(err)
	case respondent != "" && !p.SubmissionID.IsZero(): // the respondent can begin a new one
		return storage.Partial{}, in, m, storage.ErrNotFound
	case !p.SubmissionID.IsZero():
		return p, in, m, schema.ErrAlreadySubmitted
	}
	in, err = core.DecodePartial(&p)
	return p, in, m, errors.Join(err, json.Unmarshal(p.Metadata, &m))
}

// DeletePartial deletes the partial submission of a token, or of a respondent if it is not empty.
func (i Intake) DeletePartial(ctx context.Context, form storage.ID, token, respondent string) error {
	_, _, err := i.core.Storage.DeletePartials(ctx, storage.AsHost(), form, storage.DeletePartialsParams{Token: partialKey(form, token, respondent), Max: 1})
	return core.TranslateUnimplemented(err)
}
