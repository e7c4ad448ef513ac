package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/storage"
)

// ErrUnsupported says that the storage has no methods for what was asked.
var ErrUnsupported = errors.New("formsvc: the storage does not keep this kind of data")

// Supported turns what a storage returns for a method that it does not have into ErrUnsupported.
func Supported(err error) error {
	if errors.Is(err, storage.ErrUnimplemented) {
		return ErrUnsupported
	}
	return err
}

// Partials returns one page of a form's half responses, those that are over at now left out.
func (c *Core) Partials(ctx context.Context, who storage.Actor, form storage.ID, now time.Time, page storage.Page) (found []storage.Partial, more bool, err error) {
	more, err = c.Storage.Partials(ctx, who, form, storage.PartialQuery{Now: now, Page: page}, func(lent *storage.Partial) error {
		p := *lent
		p.Answers, p.Hidden, p.Metadata = bytes.Clone(p.Answers), bytes.Clone(p.Hidden), bytes.Clone(p.Metadata)
		found = append(found, p)
		return nil
	})
	if err != nil {
		return nil, false, Supported(err)
	}
	return found, more, nil
}

// DeletePartial removes one half response of a form.
func (c *Core) DeletePartial(ctx context.Context, who storage.Actor, form, id storage.ID) error {
	n, _, err := c.Storage.DeletePartials(ctx, who, form, storage.DeletePartialsParams{IDs: []storage.ID{id}, Max: 1})
	if err == nil && n == 0 {
		err = storage.ErrNotFound
	}
	return Supported(err)
}

// deletePartials removes half responses of one form, if there is such a form and the storage
// keeps any.
func (c *Core) deletePartials(ctx context.Context, form storage.ID, p storage.DeletePartialsParams) error {
	p.Max = sweepRows
	for {
		_, more, err := c.Storage.DeletePartials(ctx, storage.AsHost(), form, p)
		if errors.Is(err, storage.ErrUnimplemented) || errors.Is(err, storage.ErrNotFound) {
			return nil
		}
		if err != nil || !more {
			return err
		}
	}
}

// erasePartials removes the half responses to a form for which conditions hold.
func (c *Core) erasePartials(ctx context.Context, id storage.ID, form answers.Form, hold func(list json.RawMessage) bool) error {
	page := storage.Page{Limit: 50}
	for {
		list, more, err := c.Partials(ctx, storage.AsHost(), id, time.Time{}, page) // those that are over too
		if errors.Is(err, ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		var found []storage.ID
		for _, p := range list {
			var in answers.Input
			if err := errors.Join(json.Unmarshal(p.Answers, &in.Answers), json.Unmarshal(p.Hidden, &in.Hidden)); err != nil {
				return fmt.Errorf("formsvc: half response %s: %w", p.ID, err)
			}
			if hold(form.Unfinished(in)) {
				found = append(found, p.ID)
			}
		}
		if len(found) > 0 {
			if err := c.deletePartials(ctx, id, storage.DeletePartialsParams{IDs: found}); err != nil {
				return err
			}
		}
		if !more || len(list) == 0 {
			return nil
		}
		last := &list[len(list)-1]
		page.After = &storage.Position{Time: last.SavedAt, ID: last.ID}
	}
}
