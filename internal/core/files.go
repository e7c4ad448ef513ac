package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// newDeletionHook combines the host's hooks for purged submissions. It returns nil if the host set neither hook.
func (c *Core) newDeletionHook() storage.BeforeDelete {
	if c.BeforeDelete == nil && c.RemoveFiles == nil {
		return nil
	}
	return func(ctx context.Context, submissions []storage.Submission) error {
		ids := make(map[storage.ID][]storage.ID)
		for i := range submissions {
			form, id := submissions[i].FormID, submissions[i].ID
			if known := ids[form]; len(known) == 0 || known[len(known)-1] != id { // earlier states follow each other
				ids[form] = append(known, id)
			}
		}
		for form, some := range ids {
			if c.BeforeDelete == nil {
				break
			}
			if err := c.BeforeDelete(ctx, form, some); err != nil {
				return err
			}
		}
		if c.RemoveFiles == nil {
			return nil
		}
		return c.removeFiles(ctx, submissions)
	}
}

func (c *Core) removeFiles(ctx context.Context, submissions []storage.Submission) error {
	var ids []string
	for i := range submissions {
		found, err := fileIDs(submissions[i].Answers)
		if err != nil {
			return fmt.Errorf("formsvc: decode stored answers of submission %s: %w", submissions[i].ID, err)
		}
		ids = append(ids, found...)
	}
	if len(ids) == 0 {
		return nil
	}
	return c.RemoveFiles(ctx, ids)
}

func fileIDs(stored json.RawMessage) (ids []string, err error) {
	answers, err := schema.DecodeAnswers(stored)
	for _, a := range answers {
		files, _ := a.Value.(schema.Files)
		for _, file := range files {
			ids = append(ids, file.ID)
		}
	}
	return ids, err
}

// RemoveDroppedFiles removes the files of the earlier state that the update u of old drops, unless another state or the
// update refers to them.
func (c *Core) RemoveDroppedFiles(ctx context.Context, old storage.Submission, u storage.SubmissionUpdate) error {
	last := storage.MaxSubmissionStates - 1
	if c.RemoveFiles == nil || old.Revision <= storage.MaxSubmissionStates {
		return nil
	}
	states, err := c.Storage.SubmissionHistory(ctx, storage.AsHost(), old.FormID, old.ID)
	if err != nil || len(states) <= last || states[0].Revision != old.Revision-1 { // otherwise the update fails
		return err
	}
	dropped, err := fileIDs(states[last].Answers)
	if err != nil || len(dropped) == 0 {
		return err
	}
	retained := []json.RawMessage{old.Answers, u.Answers}
	for _, state := range states[:last] {
		retained = append(retained, state.Answers)
	}
	for _, answers := range retained {
		ids, err := fileIDs(answers)
		if err != nil {
			return err
		}
		dropped = slices.DeleteFunc(dropped, func(id string) bool { return slices.Contains(ids, id) })
	}
	if len(dropped) == 0 {
		return nil
	}
	return c.RemoveFiles(ctx, dropped)
}

// callBeforeDelete calls the deletion hook, if there is one, with submissions and then with the earlier states of each.
func (c *Core) callBeforeDelete(ctx context.Context, submissions []storage.Submission) error {
	if c.beforeDelete == nil || len(submissions) == 0 {
		return nil
	}
	if err := c.beforeDelete(ctx, submissions); err != nil {
		return err
	}
	for i := range submissions {
		s := &submissions[i]
		if s.Revision <= 1 {
			continue
		}
		states, err := c.Storage.SubmissionHistory(ctx, storage.AsHost(), s.FormID, s.ID)
		if err != nil && !errors.Is(err, storage.ErrNotFound) { // if not found, it was removed in the meantime
			return err
		}
		earlier := make([]storage.Submission, len(states))
		for n, state := range states {
			earlier[n] = storage.Submission{FormID: s.FormID, ID: s.ID, Answers: state.Answers}
		}
		if err := c.beforeDelete(ctx, earlier); err != nil {
			return err
		}
	}
	return nil
}

// DeleteSubmission permanently deletes a submission.
func (c *Core) DeleteSubmission(ctx context.Context, actor storage.Actor, form, id storage.ID) error {
	if c.beforeDelete != nil {
		sub, err := c.Storage.Submission(ctx, actor, form, id)
		if err == nil {
			err = c.callBeforeDelete(ctx, []storage.Submission{sub})
		}
		if err != nil {
			return err
		}
	}
	return c.Storage.DeleteSubmission(ctx, actor, form, id)
}
