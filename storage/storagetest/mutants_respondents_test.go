package storagetest

import (
	"context"
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// badRespondents is a store whose methods about respondents are changed where they are set.
type badRespondents struct {
	storage.Storage
	list  func(*storage.SubmissionsParams)
	erase func(*storage.EraseRespondentParams, *storage.ErasedRespondent) // called before and after the call
}

func (m badRespondents) Submissions(ctx context.Context, actor storage.Actor, form storage.ID, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	if m.list != nil {
		m.list(&q)
	}
	return m.Storage.Submissions(ctx, actor, form, q, each)
}

func (m badRespondents) RespondentSubmissions(ctx context.Context, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	if m.list != nil {
		m.list(&q)
	}
	return m.Storage.RespondentSubmissions(ctx, q, each)
}

func (m badRespondents) EraseRespondent(ctx context.Context, p storage.EraseRespondentParams) (storage.ErasedRespondent, error) {
	if m.erase == nil {
		return m.Storage.EraseRespondent(ctx, p)
	}
	m.erase(&p, nil)
	out, err := m.Storage.EraseRespondent(ctx, p)
	m.erase(nil, &out)
	return out, err
}

func respondentMutants() []mutant {
	lists := func(edit func(*storage.SubmissionsParams)) wrapper {
		return func(s storage.Storage) storage.Storage { return badRespondents{Storage: s, list: edit} }
	}
	erases := func(before func(*storage.EraseRespondentParams), after func(*storage.ErasedRespondent)) wrapper {
		return func(s storage.Storage) storage.Storage {
			return badRespondents{Storage: s, erase: func(p *storage.EraseRespondentParams, out *storage.ErasedRespondent) {
				if p != nil {
					before(p)
				} else {
					after(out)
				}
			}}
		}
	}
	return []mutant{
		{"drops respondents", []string{"respondents/stored", "respondents/list", "respondents/list_all", "respondents/list_refused", "respondents/erase"},
			submits(func(n *storage.NewSubmission) { n.Submission.Respondent = "" })},
		{"ignores the case of respondents", []string{"respondents/list", "respondents/list_all", "respondents/one", "respondents/erase"},
			submits(func(n *storage.NewSubmission) { n.Submission.Respondent = strings.ToLower(n.Submission.Respondent) })},
		{"trims respondents", []string{"respondents/list", "respondents/list_all", "respondents/one"},
			submits(func(n *storage.NewSubmission) { n.Submission.Respondent = strings.TrimSpace(n.Submission.Respondent) })},
		{"ignores OnePerRespondent", []string{"respondents/one", "respondents/one_order", "respondents/one_freed", "respondents/concurrent_one"},
			submits(func(n *storage.NewSubmission) { n.OnePerRespondent = false })},
		{"takes no respondent for a respondent", []string{"respondents/one"},
			submits(func(n *storage.NewSubmission) {
				if n.OnePerRespondent && n.Submission.Respondent == "" {
					n.Submission.Respondent = "nobody"
				}
			})},
		{"ignores the respondent of a list", []string{"respondents/list"}, lists(func(q *storage.SubmissionsParams) { q.Respondent = "" })},
		{"returns longer pages", []string{"respondents/list"}, lists(func(q *storage.SubmissionsParams) { q.Page.Limit++ })},
		{"ignores the bytes of a list", []string{"respondents/list", "respondents/list_all"}, lists(func(q *storage.SubmissionsParams) { q.MaxBytes = 0 })},
		{"erases all in one step", []string{"respondents/erase_in_batches"},
			erases(func(p *storage.EraseRespondentParams) { p.Max *= 100 }, func(*storage.ErasedRespondent) {})},
		{"erases one batch", []string{"respondents/erase_in_batches", "respondent_partials/erase"},
			erases(func(*storage.EraseRespondentParams) {}, func(out *storage.ErasedRespondent) { out.More = false })},
		{"erases without a word", []string{"respondents/erase_before_delete"},
			erases(func(p *storage.EraseRespondentParams) { p.BeforeDelete = nil }, func(*storage.ErasedRespondent) {})},
		{"takes the respondent of a change", []string{"respondent_partials/stored"}, func(s storage.Storage) storage.Storage {
			m := &badPartials{Storage: s}
			m.read = func(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
				got, err := s.Partial(ctx, form, token, now)
				got.Respondent = m.saved(token).Partial.Respondent
				return got, err
			}
			return m
		}},
		{"replaces no partial submission", []string{"respondent_partials/begin_again"}, func(s storage.Storage) storage.Storage {
			return &badPartials{Storage: s, save: func(ctx context.Context, p storage.SavePartialParams) (int64, error) {
				p.Partial.Respondent = ""
				return s.SavePartial(ctx, p)
			}}
		}},
	}
}
