package core

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// TranslateUnimplemented returns [schema.ErrUnsupported] if err says that the storage does not implement a method.
func TranslateUnimplemented(err error) error {
	if errors.Is(err, storage.ErrUnimplemented) {
		return schema.ErrUnsupported
	}
	return err
}

// Partials returns one page of a form's unexpired partial submissions. It includes answers only if respondents were
// informed that users can read the answers. If the form has a CAPTCHA, it returns only partial submissions with a
// solved CAPTCHA.
func (c *Core) Partials(ctx context.Context, actor storage.Actor, form storage.ID, now time.Time, page storage.Page) (found []storage.Partial, more bool, err error) {
	f, err := c.Storage.Form(ctx, actor, form)
	if err != nil {
		return nil, false, err
	}
	blocks, err := schema.DecodeBlocks(f.Definition.Blocks)
	if err != nil {
		return nil, false, err
	}
	verified := hasCaptcha(blocks)
	more, err = c.Storage.Partials(ctx, actor, form, storage.PartialQuery{Now: now, Page: page, Verified: verified}, func(lent *storage.Partial) error {
		p := *lent
		if verified && !p.Verified { // the storage cannot filter by Verified
			return nil
		}
		if !p.Shared {
			p.Answers, p.Hidden, p.Metadata, p.Block, p.Seconds, p.Respondent = nil, nil, nil, "", 0, ""
		}
		p.Answers, p.Hidden, p.Metadata = bytes.Clone(p.Answers), bytes.Clone(p.Hidden), bytes.Clone(p.Metadata)
		found = append(found, p)
		return nil
	})
	return found, more, TranslateUnimplemented(err)
}

func hasCaptcha(blocks []schema.Block) bool {
	return slices.ContainsFunc(blocks, func(b schema.Block) bool {
		p := b.Properties
		if p != nil && p.Hide {
			return false
		}
		return b.Type == schema.TypeCaptcha && p != nil && p.CaptchaType != "" && p.CaptchaType != "none" || hasCaptcha(b.Children)
	})
}

// DecodePartial decodes the answers of a partial submission.
func DecodePartial(p *storage.Partial) (in answers.Input, err error) {
	if err = errors.Join(json.Unmarshal(p.Answers, &in.Answers), json.Unmarshal(p.Hidden, &in.Hidden)); err != nil {
		err = fmt.Errorf("formsvc: partial submission %s: %w", p.ID, err)
	}
	return in, err
}

// DeletePartial deletes a partial submission.
func (c *Core) DeletePartial(ctx context.Context, actor storage.Actor, form, id storage.ID) error {
	n, _, err := c.Storage.DeletePartials(ctx, actor, form, storage.DeletePartialsParams{IDs: []storage.ID{id}, Max: 1})
	if err == nil && n == 0 {
		err = storage.ErrNotFound
	}
	return TranslateUnimplemented(err)
}

// deletePartials deletes partial submissions in batches. It ignores missing forms, and storages that do not support
// partial submissions.
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

func (c *Core) erasePartials(ctx context.Context, id storage.ID, form answers.Form, hold func(list json.RawMessage) bool) error {
	q := storage.PartialQuery{Page: storage.Page{Limit: 50}} // no time limit, so that expired partial submissions are included
	for more := true; more; {
		var found []storage.ID
		var err error
		more, err = c.Storage.Partials(ctx, storage.AsHost(), id, q, func(p *storage.Partial) error {
			q.Page.After = &storage.Position{Time: p.SavedAt, ID: p.ID}
			in, err := DecodePartial(p)
			if err == nil && hold(form.PartialList(in)) {
				found = append(found, p.ID)
			}
			return err
		})
		if errors.Is(err, storage.ErrUnimplemented) {
			return nil
		}
		if err == nil && len(found) > 0 {
			err = c.deletePartials(ctx, id, storage.DeletePartialsParams{IDs: found})
		}
		if err != nil {
			return err
		}
	}
	return nil
}
