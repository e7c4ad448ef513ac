package formsvc

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/faults"
	"github.com/formsvc/formsvc/internal/visible"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// DeleteUser removes everything of a user for good: API keys with the name and e-mail
// address that they carry, memberships, and the workspaces that the user owns with all
// their forms, responses, webhooks and metrics, those in the trash included. Nothing of
// anybody else is touched, nor are forms that the user made in workspaces of others. To
// keep a workspace, hand it over first: see [Service.TransferWorkspace].
//
// Once its first transaction has committed, nobody sees any of it; its rows are removed
// in pieces. When the call returns without an error, no row is left. For that it waits
// for responses to those forms that are being stored, and for a dispatcher or a
// [Service.Maintain] that removes rows at the same time. After an error, a cancelled
// context or the end of the process the call may be repeated, and without that Maintain
// removes the rest. An unknown user is not an error, the zero ID is. What a dispatcher
// has claimed already may still be sent. PostgreSQL frees the room of removed rows with
// its next VACUUM, and keeps them in its write-ahead log and in backups for as long as
// those are kept.
func (s *Service) DeleteUser(ctx context.Context, user ID) error {
	if user.IsZero() {
		return errors.New("formsvc: DeleteUser needs the id of a user")
	}
	if err := s.storage.DeleteUser(ctx, user, s.now()); err != nil {
		return err
	}
	return s.sweepRemoved(ctx)
}

// PurgeForm removes one form for good that is in the trash, with its responses, webhooks
// and metrics, as [Service.PurgeTrash] does: when it returns nil, no row is left. It
// returns [ErrNotFound] when the form is not in the trash.
func (s *Service) PurgeForm(ctx context.Context, formID ID) error {
	if err := s.storage.PurgeForm(ctx, formID); err != nil {
		return err
	}
	return s.sweepRemoved(ctx)
}

// sweepRemoved removes the rows of what is gone already.
func (s *Service) sweepRemoved(ctx context.Context) error {
	for {
		swept, err := s.storage.Sweep(ctx, storage.SweepParams{Now: s.now(), Removals: true, Max: sweepRows})
		if err != nil || !swept.More {
			return err
		}
	}
}

// EraseRespondent removes for good the responses to a form in which every one of the
// given answers stands, and returns how many: with their idempotency keys, their pending
// deliveries, the bodies of their events and the digests of their answers. Their places
// against settings.responseLimit and their answers to settings.duplicateField are free
// again; the metrics stay.
//
// Answers are named by block id, by the name of a hidden field, or as "block/part" for a
// part of an address or contact ("contact/email"). They are compared by meaning, as
// duplicates are: Ann@Example.com is ann@example.com. A hidden field, which often has an id
// of the host's, is compared letter by letter. A choice is named by its id or, of
// other, by the text; where several can be chosen, it has to be the only one. A phone
// number needs the code of its country (+49…), unless the block has a defaultCountry.
//
// An [*Error] says that the conditions cannot mean anybody, and nothing was
// removed: there are none; a value is empty; a name is neither that of a block or hidden
// field of the form nor that of any response to it, so that blocks which the form had
// before can still be named; or it is that of a variable, a matrix, a file, a signature, a payment or a whole contact, which are never compared. Otherwise 0 means that
// no response matched: check the value.
//
// It reads all responses to the form and removes them in pieces. After an error the
// number says how many are removed; repeat the call for the rest, and for responses that
// came meanwhile. What a dispatcher has claimed already may still be sent. It returns
// [ErrNotFound] when the form does not exist or is in the trash: restore it first, or
// purge it.
func (s *Service) EraseRespondent(ctx context.Context, formID ID, wanted map[string]string) (int, error) {
	if err := checkConditions(wanted); err != nil {
		return 0, err
	}
	form, err := s.readForm(ctx, formID)
	if err != nil {
		return 0, err
	}
	conditions, erased := form.answers.Conditions(wanted), 0
	q := storage.SubmissionsParams{Page: storage.Page{Limit: batch}, MaxBytes: enterBytes}
	for {
		page, err := storage.ListSubmissions(ctx, s.storage, storage.AsHost(), formID, q)
		if err != nil {
			return erased, err
		}
		var found []ID
		for i := range page.Submissions {
			if conditions.Hold(page.Submissions[i].Answers) {
				found = append(found, page.Submissions[i].ID)
			}
		}
		if len(found) > 0 {
			n, err := s.storage.EraseSubmissions(ctx, formID, found)
			erased += n
			if err != nil {
				return erased, err
			}
		}
		if !page.More || len(page.Submissions) == 0 {
			break
		}
		last := &page.Submissions[len(page.Submissions)-1]
		q.Page.After = &storage.Position{Time: last.SubmittedAt, ID: last.ID}
	}
	var broken []error
	for _, f := range conditions.Faults() {
		broken = append(broken, faults.One(conditionPath(f.Name), f.Code, f.Message))
	}
	return erased, faults.Join(broken...)
}

func conditionPath(name string) string {
	return "/answers/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func checkConditions(wanted map[string]string) error {
	if len(wanted) == 0 {
		return faults.One("/answers", schema.CodeRequired, "must name at least one answer")
	}
	var broken []error
	for name, value := range wanted {
		path := conditionPath(name)
		switch {
		case !utf8.ValidString(value):
			broken = append(broken, faults.One(path, schema.CodeBadFormat, "must be text in UTF-8"))
		case visible.IsBlank(value):
			broken = append(broken, faults.One(path, schema.CodeRequired, "must not be empty"))
		}
	}
	return faults.Join(broken...)
}

// PurgeSubmissions removes for good the responses that were submitted before olderThan,
// and returns how many: those to one form, which may be in the trash. Idempotency keys,
// pending deliveries and the bodies of events go with them.
//
// Its answer to settings.duplicateField is free again. Unlike a response that is deleted or
// erased, one that is purged for its age keeps its place against settings.responseLimit.
// The metrics stay. Nothing is purged unless the host calls it; the zero time and the zero
// ID are errors.
//
// It works in pieces, so that nobody waits for it. After an error, a cancelled context or
// the end of the process, repeat the call. What a dispatcher has claimed already may
// still be sent. For an unknown form it returns 0 and no error.
func (s *Service) PurgeSubmissions(ctx context.Context, olderThan time.Time, formID ID) (int, error) {
	if olderThan.IsZero() || formID.IsZero() {
		return 0, errors.New("formsvc: PurgeSubmissions needs a time and a form")
	}
	return s.purgeSubmissions(ctx, olderThan, []ID{formID})
}

// PurgeAllSubmissions does what [Service.PurgeSubmissions] does for all forms of all
// users, those in the trash too.
func (s *Service) PurgeAllSubmissions(ctx context.Context, olderThan time.Time) (int, error) {
	if olderThan.IsZero() {
		return 0, errors.New("formsvc: PurgeAllSubmissions needs a time")
	}
	purged := 0
	for _, trashed := range []bool{false, true} {
		q := storage.FormsParams{Trashed: trashed, Page: storage.Page{Limit: batch}}
		for {
			forms, err := s.storage.Forms(ctx, storage.AsHost(), q)
			if err != nil {
				return purged, err
			}
			if len(forms) == 0 {
				break
			}
			ids := make([]ID, len(forms))
			for i := range forms {
				ids[i] = forms[i].ID
			}
			n, err := s.purgeSubmissions(ctx, olderThan, ids)
			purged += n
			if err != nil {
				return purged, err
			}
			last := forms[len(forms)-1]
			q.Page.After = &storage.Position{Time: last.CreatedAt, ID: last.ID}
		}
	}
	return purged, nil
}

func (s *Service) purgeSubmissions(ctx context.Context, olderThan time.Time, forms []ID) (int, error) {
	purged := 0
	for {
		got, err := s.storage.PurgeSubmissions(ctx, storage.PurgeSubmissionsParams{Forms: forms, Before: olderThan, Max: sweepRows})
		purged += got.Submissions
		if err != nil || !got.More {
			return purged, err
		}
	}
}
