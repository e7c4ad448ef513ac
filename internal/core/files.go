package core

import (
	"context"
	"fmt"

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
			form := submissions[i].FormID
			ids[form] = append(ids[form], submissions[i].ID)
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
		answers, err := schema.DecodeAnswers(submissions[i].Answers)
		if err != nil {
			return fmt.Errorf("formsvc: decode stored answers of submission %s: %w", submissions[i].ID, err)
		}
		for _, a := range answers {
			files, _ := a.Value.(schema.Files)
			for _, file := range files {
				ids = append(ids, file.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return c.RemoveFiles(ctx, ids)
}

// DeleteSubmission permanently deletes a submission.
func (c *Core) DeleteSubmission(ctx context.Context, actor storage.Actor, form, id storage.ID) error {
	if c.beforeDelete != nil {
		sub, err := c.Storage.Submission(ctx, actor, form, id)
		if err == nil {
			err = c.beforeDelete(ctx, []storage.Submission{sub})
		}
		if err != nil {
			return err
		}
	}
	return c.Storage.DeleteSubmission(ctx, actor, form, id)
}
