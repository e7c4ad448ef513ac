package core

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"time"

	"github.com/formsvc/formsvc/internal/definition"
	"github.com/formsvc/formsvc/storage"
)

const (
	kindWorkingCopy = "working-copy" // at most one per form, with an empty key
	kindVersion     = "version"      // with the revision as the key
)

// minVersionInterval is how old the last version must be before an ordinary write creates another version. Editors
// write on each keystroke, and a version per write would displace useful versions.
const minVersionInterval = 10 * time.Minute

// maxVersionBytes limits the total size of a form's versions. It is enough for eight of the largest forms, or for 100
// versions of 300 kB.
const maxVersionBytes = 32 << 20

func versionKey(revision int64) string { return fmt.Sprintf("%016d", revision) }

// addVersion adds a version with the stored content to a change. Unless eachTime is true, it does nothing if the last
// version is newer than minVersionInterval.
func (c *Core) addVersion(ctx context.Context, actor storage.Actor, stored *storage.Form, change *storage.FormChange, eachTime bool) error {
	before := contentOf(stored)
	drafted := change.Status != nil && *change.Status != stored.Status
	if c.Versions == 0 || stored.Status != storage.StatusPublished || !drafted && reflect.DeepEqual(before, applyChange(before, change)) {
		return nil
	}
	if !eachTime {
		newest, _, err := c.Storage.Documents(ctx, actor, stored.ID, storage.DocumentQuery{Kind: kindVersion, Limit: 1})
		switch {
		case errors.Is(err, storage.ErrUnimplemented):
			return nil
		case err != nil:
			return err
		}
		for _, v := range newest { // ignore versions with a time in the future
			if age := change.At.Sub(v.CreatedAt); age >= 0 && age < minVersionInterval {
				return nil
			}
		}
	}
	user, _ := actor.User()
	change.Documents = append(change.Documents, storage.DocumentChange{
		Kind: kindVersion, Key: versionKey(stored.Revision), Value: encodeDocument(before, nil), By: user, At: change.At,
		Retention: storage.Retention{Count: c.Versions, Bytes: maxVersionBytes},
	})
	return nil
}

// VersionList returns a form's versions without their content, newest first.
func (c *Core) VersionList(ctx context.Context, actor storage.Actor, form storage.ID) iter.Seq2[storage.FormVersion, error] {
	return func(yield func(storage.FormVersion, error) bool) {
		q := storage.DocumentQuery{Kind: kindVersion, Limit: batchSize}
		for more := true; more; {
			var found []storage.Document
			var err error
			if found, more, err = c.Storage.Documents(ctx, actor, form, q); err != nil {
				yield(storage.FormVersion{}, TranslateUnimplemented(err))
				return
			}
			for i := range found {
				q.Below = &found[i].Key
				if !yield(decodeVersion(&found[i]), nil) {
					return
				}
			}
		}
	}
}

func decodeVersion(d *storage.Document) storage.FormVersion {
	revision, _ := strconv.ParseInt(d.Key, 10, 64) // valid, because versionKey wrote it
	return storage.FormVersion{Revision: revision, ReplacedBy: d.By, ReplacedAt: d.CreatedAt}
}

// Version returns a version with its content.
func (c *Core) Version(ctx context.Context, actor storage.Actor, form storage.ID, revision int64) (storage.FormVersion, error) {
	d, err := c.Storage.Document(ctx, actor, form, kindVersion, versionKey(revision))
	if err != nil {
		return storage.FormVersion{}, TranslateUnimplemented(err)
	}
	v := decodeVersion(&d)
	v.FormContent, _, err = decodeDocument(d.Value)
	return v, err
}

// RestoreVersion replaces a form's name, type and definition with a version's. It checks them as UpdateForm does.
func (c *Core) RestoreVersion(ctx context.Context, actor storage.Actor, form storage.ID, revision int64, condition Precondition) (storage.Form, error) {
	v, err := c.Version(ctx, actor, form, revision)
	if err != nil {
		return storage.Form{}, err
	}
	return c.updateWithRetry(ctx, actor, Target{ID: form}, condition, func(stored *storage.Form) (storage.FormChange, error) {
		change, err := c.newContentChange(stored, v.FormContent)
		if err == nil {
			err = c.addVersion(ctx, actor, stored, &change, true)
		}
		return change, err
	})
}

// newContentChange returns the change that replaces a form's content. It checks the content as UpdateForm does.
func (c *Core) newContentChange(stored *storage.Form, with storage.FormContent) (storage.FormChange, error) {
	change := storage.FormChange{At: c.Now()}
	switch {
	case reflect.DeepEqual(with, contentOf(stored)):
		return change, nil
	case with.Format != definition.Format:
		return change, fmt.Errorf("formsvc: unknown definition format %d", with.Format)
	}
	b := newUpdateBody(with, contentOf(stored))
	b.w.EndObject()
	w, err := c.validator.ParseFormUpdate(b.w.Bytes())
	if err != nil {
		return change, convertSyntaxError(err)
	}
	change.Name, change.Type, change.Acceptance = w.Name, w.Type, withIdentityRules(w.Acceptance)
	change.Definition, err = c.validator.ChangeDefinition(w, stored.Definition)
	return change, err
}
