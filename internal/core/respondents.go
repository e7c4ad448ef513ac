package core

import (
	"bytes"
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const maxRespondent = 200 // in bytes

// CheckRespondent returns a violation if a host's ID of a respondent is invalid. An empty ID is valid.
func CheckRespondent(respondent string) error {
	const path = "/respondent"
	switch {
	case len(respondent) > maxRespondent:
		return violation.New(path, schema.CodeTooLong, "must have at most 200 bytes", "limit", maxRespondent, "unit", "bytes")
	case !utf8.ValidString(respondent) || strings.ContainsFunc(respondent, unicode.IsControl):
		return violation.New(path, schema.CodeBadFormat, "must be text in UTF-8 without control characters", "format", "text")
	}
	return nil
}

// RequireRespondent is like [CheckRespondent], but also returns [schema.ErrUnsupported] if the storage would ignore the
// respondent.
func (c *Core) RequireRespondent(ctx context.Context, respondent string) error {
	err := CheckRespondent(respondent)
	if err == nil && respondent != "" {
		_, err = c.Storage.RespondentSubmissions(ctx, storage.SubmissionsParams{}, nil) // reads nothing
	}
	return TranslateUnimplemented(err)
}

func checkGivenRespondent(respondent string) error {
	if respondent == "" {
		return violation.New("/respondent", schema.CodeRequired, "is required")
	}
	return CheckRespondent(respondent)
}

// RespondentSubmissions returns one page of a respondent's submissions to all forms. MaxPageBytes also limits the page.
func (c *Core) RespondentSubmissions(ctx context.Context, respondent string, page storage.Page) (found []storage.Submission, more bool, err error) {
	if err := checkGivenRespondent(respondent); err != nil {
		return nil, false, err
	}
	q := storage.SubmissionsParams{Respondent: respondent, Page: page, MaxBytes: MaxPageBytes}
	more, err = c.Storage.RespondentSubmissions(ctx, q, func(lent *storage.Submission) error {
		s := *lent
		s.Answers, s.Metadata, s.Hidden = bytes.Clone(s.Answers), bytes.Clone(s.Metadata), bytes.Clone(s.Hidden)
		found = append(found, s)
		return nil
	})
	return found, more, TranslateUnimplemented(err)
}

// RespondentSubmission returns a respondent's newest submission to a form.
func (c *Core) RespondentSubmission(ctx context.Context, form storage.ID, respondent string) (storage.Submission, error) {
	if err := checkGivenRespondent(respondent); err != nil {
		return storage.Submission{}, err
	}
	page, err := c.Submissions(ctx, storage.AsHost(), form, storage.SubmissionsParams{Respondent: respondent, Page: storage.Page{Limit: 1}})
	if err == nil && len(page.Submissions) == 0 {
		err = storage.ErrNotFound
	}
	if err != nil {
		return storage.Submission{}, err
	}
	return page.Submissions[0], nil
}

// EraseRespondentData permanently deletes a respondent's submissions and partial submissions to all forms. It returns
// the number of deleted submissions.
func (c *Core) EraseRespondentData(ctx context.Context, respondent string) (int, error) {
	if err := checkGivenRespondent(respondent); err != nil {
		return 0, err
	}
	p := storage.EraseRespondentParams{Respondent: respondent, BeforeDelete: c.beforeDelete, Max: sweepRows}
	for erased := 0; ; {
		got, err := c.Storage.EraseRespondent(ctx, p)
		if erased += got.Submissions; err != nil || !got.More {
			return erased, TranslateUnimplemented(err)
		}
	}
}
