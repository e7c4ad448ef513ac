package storagetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// documentMutants are broken in what is kept beside forms.
func documentMutants() []mutant {
	edits := func(edit func(*storage.DocumentChange)) wrapper {
		return func(s storage.Storage) storage.Storage { return editsDocuments{s, edit} }
	}
	returns := func(edit func(*storage.Document)) wrapper {
		return func(s storage.Storage) storage.Storage { return returnsDocuments{s, edit} }
	}
	return []mutant{
		{"forgets who wrote a document", []string{"documents/put_and_read", "documents/put_again", "documents/delete_user"},
			edits(func(c *storage.DocumentChange) { c.By = storage.ID{} })},
		{"does not look at IfRevision of a document", []string{
			"documents/if_revision_mismatch", "documents/update_form_mismatch", "documents/concurrent_create", "documents/concurrent_revision",
			"documents/concurrent_update_form", "documents/public", "documents/keep_others",
		}, edits(func(c *storage.DocumentChange) { c.IfRevision = nil })},
		{"raises Beside for every document", []string{"documents/public", "documents/put_and_read", "documents/beside_is_the_stores"},
			func(s storage.Storage) storage.Storage {
				return besideIsGiven{edits(func(c *storage.DocumentChange) { c.Public = true })(s)}
			}},
		{"keeps every document", []string{"documents/keep_count", "documents/keep_bytes", "documents/keep_others", "documents/concurrent_keep", "documents/update_form_keep"},
			edits(func(c *storage.DocumentChange) { c.Retention = storage.Retention{} })},
		{"removes no document", []string{"documents/remove", "documents/first", "documents/if_revision", "documents/update_form"},
			edits(func(c *storage.DocumentChange) {
				if c.Value == nil {
					c.Value = json.RawMessage(`null`)
				}
			})},
		{"returns a zero document where there is none", []string{"documents/unknown", "documents/remove", "documents/invalid_text_found"},
			wrap[neverMissing]},
		{"folds the case of keys", []string{"documents/keys", "documents/list"},
			edits(func(c *storage.DocumentChange) { c.Key = strings.ToLower(c.Key) })},
		{"writes a value anew", []string{"documents/json"},
			returns(func(d *storage.Document) {
				var v any
				if json.Unmarshal(d.Value, &v) == nil {
					d.Value, _ = json.Marshal(v)
				}
			})},
		{"cuts times of documents to the second", []string{"documents/times", "documents/put_and_read"},
			returns(func(d *storage.Document) {
				d.CreatedAt, d.UpdatedAt = wholeSeconds(d.CreatedAt), wholeSeconds(d.UpdatedAt)
			})},
		{"says that there are more whenever there are documents", []string{"documents/list", "documents/list_pages"},
			wrap[saysMore]},
		{"finds forms with documents of another kind", []string{"documents/forms_with"}, wrap[anyKind]},
		{"lists one document at least", []string{"documents/list_no_limit"}, wrap[listsOne]},
		{"loses documents when a form moves", []string{"documents/moved_form"},
			func(s storage.Storage) storage.Storage { return losesDocuments{Storage: s, moved: true} }},
		{"loses documents when a form goes to the trash", []string{"documents/trash", "documents/concurrent_trash"},
			func(s storage.Storage) storage.Storage { return losesDocuments{Storage: s, trashed: true} }},
		{"shows the documents of an earlier form", []string{"documents/purge", "documents/delete_user"},
			func(s storage.Storage) storage.Storage { return &remembersKeys{Storage: s} }},
		{"writes no documents with a form", []string{"documents/update_form", "forms/update_documents"}, wrap[withoutTheForm]},
		{"writes documents before the form", []string{"documents/update_form_same", "documents/update_form_mismatch", "documents/update_form_order"},
			wrap[writesBefore]},
		{"takes documents that no store keeps", []string{"documents/invalid_values"},
			edits(func(c *storage.DocumentChange) {
				if !storage.ValidDocuments([]storage.DocumentChange{*c}) {
					*c = storage.DocumentChange{Kind: version, Key: "x", IfRevision: c.IfRevision, Value: json.RawMessage(`1`)}
				}
			})},
		{"takes the last of two changes of a document", []string{"documents/invalid_twice"}, wrap[lastOfTwo]},
		{"keeps the slice of a document", []string{"documents/copies_in"},
			func(s storage.Storage) storage.Storage { return &keepsValues{Storage: s, in: true} }},
		{"hands out the slice of a document", []string{"documents/copies_out"},
			func(s storage.Storage) storage.Storage { return &keepsValues{Storage: s} }},
		{"reads a document and writes it, in two steps", []string{"documents/concurrent_writes"},
			func(s storage.Storage) storage.Storage { return writesInTwoSteps{s, newRendezvous(40)} }},
	}
}

// editsDocuments edits changes before they are made.
type editsDocuments struct {
	storage.Storage
	edit func(*storage.DocumentChange)
}

func (m editsDocuments) PutDocument(ctx context.Context, actor storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	m.edit(&c)
	return m.Storage.PutDocument(ctx, actor, form, c)
}

func (m editsDocuments) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	c.Documents = slices.Clone(c.Documents)
	for i := range c.Documents {
		m.edit(&c.Documents[i])
	}
	return m.Storage.UpdateForm(ctx, actor, id, c)
}

// returnsDocuments edits what is returned.
type returnsDocuments struct {
	storage.Storage
	edit func(*storage.Document)
}

func (m returnsDocuments) PutDocument(ctx context.Context, actor storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	d, err := m.Storage.PutDocument(ctx, actor, form, c)
	m.edit(&d)
	return d, err
}

func (m returnsDocuments) Document(ctx context.Context, actor storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	d, err := m.Storage.Document(ctx, actor, form, kind, key)
	m.edit(&d)
	return d, err
}

type saysMore struct{ storage.Storage }

func (m saysMore) Documents(ctx context.Context, actor storage.Actor, form storage.ID, q storage.DocumentQuery) ([]storage.Document, bool, error) {
	list, _, err := m.Storage.Documents(ctx, actor, form, q)
	return list, len(list) > 0, err
}

type listsOne struct{ storage.Storage }

func (m listsOne) Documents(ctx context.Context, actor storage.Actor, form storage.ID, q storage.DocumentQuery) ([]storage.Document, bool, error) {
	q.Limit = max(q.Limit, 1)
	return m.Storage.Documents(ctx, actor, form, q)
}

// besideIsGiven takes Beside from the caller.
type besideIsGiven struct{ storage.Storage }

func (m besideIsGiven) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	err := m.Storage.CreateForm(ctx, actor, f)
	for range f.DocumentsRevision {
		if err == nil {
			_, err = m.PutDocument(ctx, actor, f.ID, storage.DocumentChange{Kind: version, Value: json.RawMessage(`1`)})
		}
	}
	return err
}

type neverMissing struct{ storage.Storage }

func (m neverMissing) Document(ctx context.Context, actor storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	d, err := m.Storage.Document(ctx, actor, form, kind, key)
	if errors.Is(err, storage.ErrNotFound) {
		err = nil
	}
	return d, err
}

// losesDocuments loses those of a form.
type losesDocuments struct {
	storage.Storage
	moved, trashed bool
}

func (m losesDocuments) lose(ctx context.Context, form storage.ID) {
	for _, kind := range []string{version, workingCopy} {
		list, _, _ := m.Documents(ctx, storage.AsHost(), form, storage.DocumentQuery{Kind: kind, Limit: everyRecord})
		for _, d := range list {
			_, _ = m.PutDocument(ctx, storage.AsHost(), form, storage.DocumentChange{Kind: kind, Key: d.Key})
		}
	}
}

func (m losesDocuments) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	if m.moved && c.WorkspaceID != nil {
		m.lose(ctx, id)
	}
	return m.Storage.UpdateForm(ctx, actor, id, c)
}

func (m losesDocuments) TrashForm(ctx context.Context, actor storage.Actor, id storage.ID, p storage.TrashParams) error {
	if m.trashed {
		m.lose(ctx, id)
	}
	return m.Storage.TrashForm(ctx, actor, id, p)
}

// remembersKeys leaves the rows of purged forms where the next form with the id finds them.
type remembersKeys struct {
	storage.Storage
	wrote sync.Map
}

func (m *remembersKeys) PutDocument(ctx context.Context, actor storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	m.wrote.Store(form, c)
	return m.Storage.PutDocument(ctx, actor, form, c)
}

func (m *remembersKeys) CreateForm(ctx context.Context, actor storage.Actor, f storage.Form) error {
	err := m.Storage.CreateForm(ctx, actor, f)
	if c, there := m.wrote.Load(f.ID); there && err == nil {
		_, err = m.Storage.PutDocument(ctx, actor, f.ID, c.(storage.DocumentChange))
	}
	return err
}

type withoutTheForm struct{ storage.Storage }

func (m withoutTheForm) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	c.Documents = nil
	return m.Storage.UpdateForm(ctx, actor, id, c)
}

// writesBefore writes documents one by one, before the form.
type writesBefore struct{ storage.Storage }

func (m writesBefore) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	documents := c.Documents
	c.Documents = nil
	for _, doc := range documents {
		if _, err := m.PutDocument(ctx, actor, id, doc); err != nil {
			return storage.Form{}, err
		}
	}
	return m.Storage.UpdateForm(ctx, actor, id, c)
}

type lastOfTwo struct{ storage.Storage }

func (m lastOfTwo) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	var last []storage.DocumentChange
	for _, doc := range c.Documents {
		last = slices.DeleteFunc(last, func(o storage.DocumentChange) bool { return o.Kind == doc.Kind && o.Key == doc.Key })
		last = append(last, doc)
	}
	c.Documents = last
	return m.Storage.UpdateForm(ctx, actor, id, c)
}

// keepsValues keeps the bytes that it was given, or those that it handed out.
type keepsValues struct {
	storage.Storage
	in     bool
	values sync.Map
}

func (m *keepsValues) PutDocument(ctx context.Context, actor storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	d, err := m.Storage.PutDocument(ctx, actor, form, c)
	kept := bytes.Clone(c.Value)
	if m.in {
		kept = c.Value
	} else {
		d.Value = kept
	}
	m.values.Store(c.Key, kept)
	return d, err
}

func (m *keepsValues) Document(ctx context.Context, actor storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	d, err := m.Storage.Document(ctx, actor, form, kind, key)
	if kept, there := m.values.Load(key); there {
		d.Value = kept.([]byte)
	}
	return d, err
}

type writesInTwoSteps struct {
	storage.Storage
	all *rendezvous
}

func (m writesInTwoSteps) PutDocument(ctx context.Context, actor storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	before, err := m.Document(ctx, actor, form, c.Kind, c.Key)
	m.all.meet()
	if err == nil || errors.Is(err, storage.ErrNotFound) {
		c.IfRevision = []int64{before.Revision}
		before, err = m.Storage.PutDocument(ctx, actor, form, c)
	}
	if errors.Is(err, storage.ErrRevisionMismatch) {
		err = nil // the other's write is lost
	}
	return before, err
}

// A store that has only the stubs passes: the group says that it is unsupported, and everything
// else is held to the contract.
func TestAStoreWithoutWhatIsBesideAForm(t *testing.T) {
	t.Parallel()
	Run(t, func(*testing.T) storage.Storage { return stubs{memory.New()} })
	said := 0
	for _, c := range Cases() {
		reason := c.unsupported(t.Context(), stubs{memory.New()})
		if (reason != "") != (optional[c.Group()] != nil) {
			t.Errorf("%s is unsupported for %q", c.Name, reason)
		}
		if reason != "" {
			said++
		}
		if reason := c.unsupported(t.Context(), memory.New()); reason != "" {
			t.Errorf("%s is unsupported by a store that has all, for %q", c.Name, reason)
		}
		if c.unsupported(t.Context(), halfStubs{stubs{memory.New()}}) != "" {
			t.Errorf("%s is unsupported by a store that has one of the methods", c.Name)
		}
	}
	if said < 30 {
		t.Errorf("%d cases are unsupported", said)
	}
	// It has to refuse what it cannot keep.
	if failed, _ := record(t.Context(), find(t, "forms/update_documents"), halfRefusal{stubs{memory.New()}}); !failed {
		t.Error("the suite takes a store that drops the documents of a form's change")
	}
}

// stubs has no documents, partial submissions and respondents.
type stubs struct{ storage.Storage }

func (stubs) PutDocument(ctx context.Context, actor storage.Actor, form storage.ID, c storage.DocumentChange) (storage.Document, error) {
	return storage.Unimplemented{}.PutDocument(ctx, actor, form, c)
}

func (stubs) Document(ctx context.Context, actor storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	return storage.Unimplemented{}.Document(ctx, actor, form, kind, key)
}

func (stubs) FormsWithDocument(ctx context.Context, actor storage.Actor, kind string, forms []storage.ID) ([]storage.ID, error) {
	return storage.Unimplemented{}.FormsWithDocument(ctx, actor, kind, forms)
}

func (stubs) Documents(ctx context.Context, actor storage.Actor, form storage.ID, q storage.DocumentQuery) ([]storage.Document, bool, error) {
	return storage.Unimplemented{}.Documents(ctx, actor, form, q)
}

func (stubs) SavePartial(ctx context.Context, p storage.SavePartialParams) (int64, error) {
	return storage.Unimplemented{}.SavePartial(ctx, p)
}

func (stubs) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	return storage.Unimplemented{}.Partial(ctx, form, token, now)
}

func (stubs) Partials(ctx context.Context, actor storage.Actor, form storage.ID, q storage.PartialQuery, each func(*storage.Partial) error) (bool, error) {
	return storage.Unimplemented{}.Partials(ctx, actor, form, q, each)
}

func (stubs) DeletePartials(ctx context.Context, actor storage.Actor, form storage.ID, p storage.DeletePartialsParams) (int, bool, error) {
	return storage.Unimplemented{}.DeletePartials(ctx, actor, form, p)
}

func (stubs) RespondentSubmissions(ctx context.Context, q storage.SubmissionsParams, each func(*storage.Submission) error) (bool, error) {
	return storage.Unimplemented{}.RespondentSubmissions(ctx, q, each)
}

func (stubs) EraseRespondent(ctx context.Context, p storage.EraseRespondentParams) (storage.ErasedRespondent, error) {
	return storage.Unimplemented{}.EraseRespondent(ctx, p)
}

func (stubs) UpdateSubmission(ctx context.Context, actor storage.Actor, u storage.SubmissionUpdate) (storage.Submission, error) {
	return storage.Unimplemented{}.UpdateSubmission(ctx, actor, u)
}

func (stubs) SubmissionHistory(ctx context.Context, actor storage.Actor, form, id storage.ID) ([]storage.SubmissionState, error) {
	return storage.Unimplemented{}.SubmissionHistory(ctx, actor, form, id)
}

func (m stubs) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	if len(c.Documents) > 0 {
		return storage.Form{}, storage.ErrUnimplemented
	}
	return m.Storage.UpdateForm(ctx, actor, id, c)
}

// halfStubs has one method of each role.
type halfStubs struct{ stubs }

func (m halfStubs) Document(ctx context.Context, actor storage.Actor, form storage.ID, kind, key string) (storage.Document, error) {
	return m.Storage.Document(ctx, actor, form, kind, key)
}

func (m halfStubs) Partial(ctx context.Context, form storage.ID, token [32]byte, now time.Time) (storage.Partial, error) {
	return m.Storage.Partial(ctx, form, token, now)
}

func (m halfStubs) EraseRespondent(ctx context.Context, p storage.EraseRespondentParams) (storage.ErasedRespondent, error) {
	return m.Storage.EraseRespondent(ctx, p)
}

func (m halfStubs) SubmissionHistory(ctx context.Context, actor storage.Actor, form, id storage.ID) ([]storage.SubmissionState, error) {
	return m.Storage.SubmissionHistory(ctx, actor, form, id)
}

// halfRefusal drops what it cannot keep.
type halfRefusal struct{ stubs }

func (m halfRefusal) UpdateForm(ctx context.Context, actor storage.Actor, id storage.ID, c storage.FormChange) (storage.Form, error) {
	c.Documents = nil
	return m.stubs.UpdateForm(ctx, actor, id, c)
}

type anyKind struct{ storage.Storage }

func (m anyKind) FormsWithDocument(ctx context.Context, actor storage.Actor, _ string, forms []storage.ID) ([]storage.ID, error) {
	one, err := m.Storage.FormsWithDocument(ctx, actor, version, forms)
	other, _ := m.Storage.FormsWithDocument(ctx, actor, workingCopy, forms)
	return append(one, other...), err
}
