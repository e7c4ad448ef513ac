package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/textclean"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const batchSize = 500

// TrashedForms returns a workspace's forms in the trash without their definitions, by creation time, newest first. It
// returns [storage.ErrNotFound] for the zero ID.
func (c *Core) TrashedForms(ctx context.Context, workspace storage.ID) ([]storage.Form, error) {
	if workspace.IsZero() {
		return nil, storage.ErrNotFound // the storage would return the forms of all workspaces
	}
	var all []storage.Form
	err := c.eachFormPage(ctx, storage.FormsParams{WorkspaceID: workspace, Trashed: true}, func(found []storage.Form) error {
		all = append(all, found...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// eachFormPage calls the function each with every nonempty page of forms.
func (c *Core) eachFormPage(ctx context.Context, q storage.FormsParams, each func([]storage.Form) error) error {
	q.Page.Limit = batchSize
	for {
		found, err := c.Storage.Forms(ctx, storage.AsHost(), q)
		if err != nil || len(found) == 0 {
			return err
		}
		if err := each(found); err != nil || len(found) < batchSize {
			return err
		}
		last := found[len(found)-1]
		q.Page.After = &storage.Position{Time: last.CreatedAt, ID: last.ID}
	}
}

// PurgeTrash purges forms that were moved to the trash before olderThan, and returns how many it purged.
func (c *Core) PurgeTrash(ctx context.Context, olderThan time.Time) (int, error) {
	if olderThan.IsZero() {
		return 0, errors.New("formsvc: PurgeTrash requires a time")
	}
	return c.sweepRemoved(ctx, olderThan)
}

// PurgeForm purges a form in the trash.
func (c *Core) PurgeForm(ctx context.Context, form storage.ID) error {
	if err := c.Storage.PurgeForm(ctx, form); err != nil {
		return err
	}
	_, err := c.sweepRemoved(ctx, time.Time{})
	return err
}

// DeleteUser permanently deletes all of a user's data before it returns.
func (c *Core) DeleteUser(ctx context.Context, user storage.ID) error {
	if user.IsZero() {
		return errors.New("formsvc: DeleteUser requires a user ID")
	}
	if err := c.Storage.DeleteUser(ctx, user, c.Now()); err != nil {
		return err
	}
	_, err := c.sweepRemoved(ctx, time.Time{})
	return err
}

// sweepRemoved deletes all rows of deleted records. If trashBefore is set, it first purges forms that were moved to the
// trash before that time. It returns the number of purged forms.
func (c *Core) sweepRemoved(ctx context.Context, trashBefore time.Time) (forms int, err error) {
	for {
		swept, err := c.Storage.Sweep(ctx, storage.SweepParams{Now: c.Now(), TrashBefore: trashBefore, RemovalsOnly: true, BeforeDelete: c.beforeDelete, Max: sweepRows})
		forms += swept.Forms
		if err != nil || !swept.More {
			return forms, err
		}
	}
}

// EraseRespondent permanently deletes the submissions and partial submissions that contain all wanted answers. It
// returns the number of deleted submissions. Package formsvc documents how answers are named and compared.
func (c *Core) EraseRespondent(ctx context.Context, formID storage.ID, wanted map[string]string) (erased int, err error) {
	form, err := c.formForConditions(ctx, formID, wanted)
	if err != nil {
		return 0, err
	}
	conditions := form.Conditions(wanted)
	err = c.eachMatch(ctx, formID, conditions.Match, func(leaving []storage.Submission) error {
		if err := c.callBeforeDelete(ctx, leaving); err != nil {
			return err
		}
		ids := make([]storage.ID, len(leaving))
		for i := range leaving {
			ids[i] = leaving[i].ID
		}
		n, err := c.Storage.EraseSubmissions(ctx, formID, ids)
		erased += n
		return err
	})
	if err == nil {
		err = c.erasePartials(ctx, formID, form, conditions.Match)
	}
	if err != nil {
		return erased, err
	}
	return erased, conditions.Err()
}

// FindRespondent calls found with the submissions that EraseRespondent would delete.
func (c *Core) FindRespondent(ctx context.Context, formID storage.ID, wanted map[string]string, found func([]storage.Submission) error) error {
	form, err := c.formForConditions(ctx, formID, wanted)
	if err != nil {
		return err
	}
	conditions := form.Conditions(wanted)
	if err := c.eachMatch(ctx, formID, conditions.Match, found); err != nil {
		return err
	}
	return conditions.Err()
}

// formForConditions checks wanted and compiles a form.
func (c *Core) formForConditions(ctx context.Context, formID storage.ID, wanted map[string]string) (answers.Form, error) {
	if err := checkConditions(wanted); err != nil {
		return answers.Form{}, err
	}
	f, err := c.Storage.Form(ctx, storage.AsHost(), formID)
	if err != nil {
		return answers.Form{}, err
	}
	form, err := answers.Compile(c.AnswerSource(f.Definition))
	if err != nil {
		err = fmt.Errorf("formsvc: form %s: %w", f.ID, err)
	}
	return form, err
}

// eachMatch calls found with the submissions of each page that match now or in an earlier state.
func (c *Core) eachMatch(ctx context.Context, formID storage.ID, match func(json.RawMessage) bool, found func([]storage.Submission) error) error {
	q := storage.SubmissionsParams{Page: storage.Page{Limit: batchSize}, MaxBytes: backfillBytes}
	for {
		page, err := storage.ListSubmissions(ctx, c.Storage, storage.AsHost(), formID, q)
		if err != nil {
			return err
		}
		var matches []storage.Submission
		for i := range page.Submissions {
			matched, err := c.everMatched(ctx, &page.Submissions[i], match)
			if err != nil {
				return err
			}
			if matched {
				matches = append(matches, page.Submissions[i])
			}
		}
		if len(matches) > 0 {
			if err := found(matches); err != nil {
				return err
			}
		}
		if !page.More || len(page.Submissions) == 0 {
			return nil
		}
		last := &page.Submissions[len(page.Submissions)-1]
		q.Page.After = &storage.Position{Time: last.SubmittedAt, ID: last.ID}
	}
}

// everMatched reports whether a submission or one of its earlier states has the answers.
func (c *Core) everMatched(ctx context.Context, s *storage.Submission, matches func(json.RawMessage) bool) (bool, error) {
	matched := matches(s.Answers)
	if matched || s.Revision <= 1 {
		return matched, nil
	}
	states, err := c.Storage.SubmissionHistory(ctx, storage.AsHost(), s.FormID, s.ID)
	if errors.Is(err, storage.ErrNotFound) { // removed in the meantime
		err = nil
	}
	return slices.ContainsFunc(states, func(state storage.SubmissionState) bool { return matches(state.Answers) }), err
}

func checkConditions(wanted map[string]string) error {
	if len(wanted) == 0 {
		return violation.New("/answers", schema.CodeRequired, "must contain at least one answer")
	}
	var broken []error
	for name, value := range wanted {
		path := jsontree.JoinPointer("/answers", name)
		switch {
		case !utf8.ValidString(value):
			broken = append(broken, violation.New(path, schema.CodeBadFormat, "must be text in UTF-8"))
		case textclean.IsBlank(value):
			broken = append(broken, violation.New(path, schema.CodeRequired, "must not be empty"))
		}
	}
	return violation.Join(broken...)
}

// PurgeSubmissions permanently deletes submissions from before olderThan, and returns how many it deleted. It also
// deletes partial submissions that were last saved before olderThan.
func (c *Core) PurgeSubmissions(ctx context.Context, olderThan time.Time, form storage.ID) (int, error) {
	if olderThan.IsZero() || form.IsZero() {
		return 0, errors.New("formsvc: PurgeSubmissions requires a time and a form")
	}
	return c.purgeSubmissions(ctx, olderThan, []storage.ID{form})
}

// PurgeAllSubmissions is like PurgeSubmissions, but for all forms, including forms in the trash.
func (c *Core) PurgeAllSubmissions(ctx context.Context, olderThan time.Time) (purged int, err error) {
	if olderThan.IsZero() {
		return 0, errors.New("formsvc: PurgeAllSubmissions requires a time")
	}
	for _, trashed := range []bool{false, true} {
		err := c.eachFormPage(ctx, storage.FormsParams{Trashed: trashed}, func(forms []storage.Form) error {
			ids := make([]storage.ID, len(forms))
			for i := range forms {
				ids[i] = forms[i].ID
			}
			n, err := c.purgeSubmissions(ctx, olderThan, ids)
			purged += n
			return err
		})
		if err != nil {
			return purged, err
		}
	}
	return purged, nil
}

func (c *Core) purgeSubmissions(ctx context.Context, olderThan time.Time, forms []storage.ID) (int, error) {
	purged := 0
	for more := true; more; {
		got, err := c.Storage.PurgeSubmissions(ctx, storage.PurgeSubmissionsParams{Forms: forms, Before: olderThan, BeforeDelete: c.beforeDelete, Max: sweepRows})
		if purged, more = purged+got.Submissions, got.More; err != nil {
			return purged, err
		}
	}
	for _, form := range forms {
		if err := c.deletePartials(ctx, form, storage.DeletePartialsParams{SavedBefore: olderThan}); err != nil {
			return purged, err
		}
	}
	return purged, nil
}
