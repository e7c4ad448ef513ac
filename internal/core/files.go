package core

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// removeFiles removes the files of responses that are about to go.
func (c *Core) removeFiles(ctx context.Context, responses []json.RawMessage) error {
	var ids []string
	for _, stored := range responses {
		answers, err := schema.DecodeAnswers(stored)
		if err != nil {
			return fmt.Errorf("formsvc: files of a response: %w", err)
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

// DeleteSubmission removes one response for good.
func (c *Core) DeleteSubmission(ctx context.Context, who storage.Actor, form, id storage.ID) error {
	if c.leaving != nil {
		sub, err := c.Storage.Submission(ctx, who, form, id)
		if err == nil {
			err = c.leaving(ctx, []json.RawMessage{sub.Answers})
		}
		if err != nil {
			return err
		}
	}
	return c.Storage.DeleteSubmission(ctx, who, form, id)
}
