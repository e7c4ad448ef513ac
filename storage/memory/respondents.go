package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

// respondentField is the field under which uniqueAnswers counts the submissions of each respondent. No block has an
// empty ID.
var respondentField storage.UniqueField

// answeredError returns the error for a respondent who has already submitted the form.
func (f *form) answeredError(respondent string) error {
	first := slices.IndexFunc(f.submissions.items, func(sub *submission) bool { return sub.rec.Respondent == respondent })
	return &storage.AnsweredError{SubmittedAt: f.submissions.items[first].rec.SubmittedAt}
}

// RespondentSubmissions implements [storage.RespondentStore]. It reads all submissions.
func (s *Store) RespondentSubmissions(ctx context.Context, q storage.SubmissionsParams, each func(*storage.Submission) error) (more bool, err error) {
	found, err := withLockResult(ctx, s, []any{q.Since, q.Until, q.Respondent, q.Page}, func() (found []*submission, _ error) {
		if q.Respondent == "" || q.Page.Limit < 1 {
			return nil, nil
		}
		var all index[*submission]
		for id := range s.forms {
			if f := s.visibleForm(storage.AsHost(), id); f != nil {
				listed, _ := f.listSubmissions(storage.SubmissionsParams{Since: q.Since, Until: q.Until, Respondent: q.Respondent, Page: storage.Page{After: q.Page.After, Limit: len(f.byID)}})
				for _, sub := range listed {
					all.add(sub)
				}
			}
		}
		found, more = trimPage(all.items, q)
		return found, nil
	})
	return more, cmp.Or(passSubmissions(found, each), err)
}

// EraseRespondent implements [storage.RespondentStore]. It reads all submissions and partial submissions.
func (s *Store) EraseRespondent(ctx context.Context, p storage.EraseRespondentParams) (storage.ErasedRespondent, error) {
	return withLockResult(ctx, s, []any{p.Respondent}, func() (out storage.ErasedRespondent, _ error) {
		if p.Respondent == "" || p.Max < 1 {
			return out, nil
		}
		var found []*submission
		for _, f := range s.forms {
			for _, sub := range f.byID {
				if sub.rec.Respondent == p.Respondent && len(found) < p.Max {
					found = append(found, sub)
				}
			}
			for _, partial := range f.partials.byToken {
				if partial.rec.Respondent == p.Respondent && out.Partials < p.Max {
					f.partials.remove(partial)
					out.Partials++
				}
			}
		}
		if err := s.callBeforeDelete(ctx, p.BeforeDelete, found); err != nil {
			return out, err
		}
		for _, sub := range found {
			if f := s.forms[sub.rec.FormID]; f != nil && f.eraseSubmission(sub.rec.ID) == nil {
				out.Submissions++
			}
		}
		out.More = len(found) == p.Max || out.Partials == p.Max
		return out, nil
	})
}
