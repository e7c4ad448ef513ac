package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc/storage"
)

// documentCases are a group of their own: it is unsupported where a store has no documents.
func documentCases() []Case {
	cases := []Case{
		{"put_and_read", "PutDocument creates a document at revision 1, returns it and does not change the form, and Document returns the same.", putAndRead},
		{"put_again", "PutDocument of an existing document replaces Value, By and UpdatedAt, increases the revision by one, and retains CreatedAt.", putAgain},
		{"first", "A new document starts at InitialRevision, or at 1 for lower values, and InitialRevision does not affect an existing document.", putFirst},
		{"remove", "A nil Value removes the document and returns the zero Document, and removing a missing document is not an error.", removeDocument},
		{"unknown", "Document returns ErrNotFound for a missing kind, key or form.", unknownDocument},
		{"keys", "Kinds and keys are compared byte by byte, and a key can be empty or have 200 bytes.", documentKeys},
		{"json", "A value of any size is stored unchanged, with the order of its fields and its number literals.", documentJSON},
		{"times", "Documents retain times to the microsecond, in UTC.", documentTimes},
		{"if_revision", "PutDocument with IfRevision succeeds if the document is at one of the revisions, where 0 means that it does not exist.", documentIfRevision},
		{"if_revision_mismatch", "If IfRevision does not match, PutDocument returns a *RevisionError with the Kind and the current revision, and changes nothing.", documentMismatch},
		{"public", "A change of a public document increases the form's DocumentsRevision by one, but not the form's revision, and other documents do not.", publicDocument},
		{"beside_is_the_stores", "A new form has DocumentsRevision 0, whatever the caller passes.", besideOfNewForm},
		{"keep_count", "If a kind has more documents than Retention.Count, the documents with the lowest keys are removed, but not the written one.", keepCount},
		{"keep_bytes", "If the values of a kind exceed Retention.Bytes, the documents with the lowest keys are removed, but not the written one.", keepBytes},
		{"keep_others", "Retention does not affect other kinds and forms, and does not apply to removals and rejected writes.", keepOthers},
		{"list", "Documents lists the documents of one kind by descending key, byte by byte, without values.", listDocuments},
		{"list_pages", "Pages of any size together contain the whole list, more reports whether the list continues, and Below need not be an existing key.", pageDocuments},
		{"forms_with", "FormsWithDocument returns each accessible form that has a document of the kind, once.", formsWithDocument},
		{"list_no_limit", "A Limit below 1 returns no document.", documentsWithoutLimit},
		{"moved_form", "The documents of a form that moved are accessible to the users of its new workspace only.", documentsMove},
		{"trash", "The documents of a form in the trash are ErrNotFound, and are accessible again after the form is restored.", documentsInTrash},
		{"purge", "A purged form has no documents.", documentsPurged},
		{"delete_user", "DeleteUser retains the documents that the user wrote in other users' forms, with the user's ID.", documentsOfUser},
		{"update_form", "UpdateForm writes and removes Documents with the form, and returns the resulting DocumentsRevision.", updateWithDocuments},
		{"update_form_same", "UpdateForm that changes nothing writes none of its Documents and does not check their conditions.", updateSameWithDocuments},
		{"update_form_mismatch", "If the condition of a document does not match, UpdateForm returns a *RevisionError with the Kind and changes nothing.", updateDocumentMismatch},
		{"update_form_order", "UpdateForm checks access, target, owner and revision before the conditions of Documents.", updateDocumentOrder},
		{"update_form_keep", "Retention never removes a document that UpdateForm writes, and applies to the rest of the kind.", updateWithKeep},
		{"invalid_values", "Kinds, keys, values and times that the contract does not allow are ErrInvalidValue, before all other errors, and nothing changes.", invalidDocument},
		{"invalid_twice", "UpdateForm with two changes of one document is ErrInvalidValue.", documentTwice},
		{"invalid_text_found", "Document returns ErrNotFound for a text that no document can have, and ErrInvalidValue for such a text in a query.", invalidDocumentFound},
		{"copies_in", "A store retains no slice of a document from the caller.", copiesInDocument},
		{"copies_out", "A store returns no slice of a document that it retains.", copiesOutDocument},
		{"concurrent_create", "Of 20 concurrent writes that require a missing document, one succeeds, and the others return a *RevisionError.", concurrentCreate},
		{"concurrent_revision", "Of 20 concurrent writes with the same IfRevision, one succeeds, and the others return a *RevisionError.", concurrentRevision},
		{"concurrent_writes", "Concurrent writes without a condition each increase the revision by one, and public ones also DocumentsRevision.", concurrentWrites},
		{"concurrent_keep", "Concurrent writes leave as many documents as Retention allows, with the highest keys.", concurrentKeep},
		{"concurrent_update_form", "Of concurrent form changes that require a document at one revision, one succeeds completely, and the others change nothing.", concurrentUpdates},
		{"concurrent_trash", "A document that was accepted while its form moved to the trash exists when the form is restored, and a rejected one does not.", concurrentTrash},
	}
	for _, op := range documentOperations() {
		cases = append(cases, contextCase("ended_context_"+op.name, op),
			Case{"isolation_" + op.name, op.method + " of documents requires access to the form.", func(b *bundle) { actorSees(b, op) }})
	}
	return cases
}

// documentOperations stand apart because a store need not have the methods.
func documentOperations() []operation {
	return []operation{
		{"PutDocument", "put", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			c := w.document
			c.IfRevision = []int64{1}
			_, err := s.PutDocument(ctx, actor, w.form.ID, c)
			return err
		}},
		{"Document", "document", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			_, err := s.Document(ctx, actor, w.form.ID, w.document.Kind, w.document.Key)
			return err
		}},
		{"Documents", "documents", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			list, _, err := s.Documents(ctx, actor, w.form.ID, storage.DocumentQuery{Kind: w.document.Kind, Limit: 10})
			if err == nil && len(list) != 1 {
				return errors.New("the list is empty where ErrNotFound or a document is due")
			}
			return err
		}},
		{"FormsWithDocument", "forms_with_document", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			forms, err := s.FormsWithDocument(ctx, actor, w.document.Kind, []storage.ID{w.form.ID})
			if err == nil && len(forms) == 0 {
				return storage.ErrNotFound
			}
			return err
		}},
		{"UpdateForm", "update_form", func(ctx context.Context, s storage.Storage, w *world, actor storage.Actor) error {
			c := w.document
			c.IfRevision = []int64{1}
			_, err := s.UpdateForm(ctx, actor, w.form.ID, storage.FormChange{Name: ptr("changed"), At: w.now, Documents: []storage.DocumentChange{c}})
			return err
		}},
	}
}

// noDocuments says that a store has none, if that is so.
func noDocuments(ctx context.Context, s storage.Storage) string {
	_, put := s.PutDocument(ctx, storage.AsHost(), newID(), documentAt(version, "1", at(0)))
	_, read := s.Document(ctx, storage.AsHost(), newID(), version, "1")
	_, _, listed := s.Documents(ctx, storage.AsHost(), newID(), storage.DocumentQuery{Kind: version, Limit: 1})
	_, forms := s.FormsWithDocument(ctx, storage.AsHost(), version, []storage.ID{newID()})
	for _, err := range []error{put, read, listed, forms} {
		if !errors.Is(err, storage.ErrUnimplemented) {
			return ""
		}
	}
	return "PutDocument, Document, Documents and FormsWithDocument return ErrUnimplemented: the store keeps no documents"
}

// The kinds of documents that the cases write, and that a snapshot shows.
const (
	version     = "version"
	workingCopy = "working-copy"
)

// newDocument returns what makes a document.
func (b *bundle) newDocument(kind, key string, edit ...func(*storage.DocumentChange)) storage.DocumentChange {
	c := documentAt(kind, key, b.tick())
	for _, e := range edit {
		e(&c)
	}
	return c
}

// documentAt is newDocument for any goroutine.
func documentAt(kind, key string, now time.Time) storage.DocumentChange {
	by := newID()
	return storage.DocumentChange{Kind: kind, Key: key, Value: json.RawMessage(fmt.Sprintf(`{"by": %q, "n": 1.50}`, by)), By: by, At: now}
}

func ifDocument(revisions ...int64) func(*storage.DocumentChange) {
	return func(c *storage.DocumentChange) { c.IfRevision = revisions }
}

func isPublic(c *storage.DocumentChange) { c.Public = true }

func keeping(count, bytes int) func(*storage.DocumentChange) {
	return func(c *storage.DocumentChange) { c.Retention = storage.Retention{Count: count, Bytes: bytes} }
}

func sized(bytes int) func(*storage.DocumentChange) {
	return func(c *storage.DocumentChange) { c.Value = json.RawMessage(`"` + strings.Repeat("x", bytes-2) + `"`) }
}

func gone(c *storage.DocumentChange) { c.Value = nil }

// documentOf is the new document that a change makes.
func documentOf(c storage.DocumentChange) storage.Document {
	return storage.Document{Kind: c.Kind, Key: c.Key, Value: c.Value, Revision: 1, By: c.By, CreatedAt: c.At, UpdatedAt: c.At}
}

// put makes a change that has to be accepted.
func (b *bundle) put(form storage.ID, c storage.DocumentChange) storage.Document {
	b.Helper()
	got, err := b.store.PutDocument(b.Context(), storage.AsHost(), form, c)
	b.ok(err, "PutDocument")
	return got
}

func (b *bundle) addDocument(form storage.ID, kind, key string, edit ...func(*storage.DocumentChange)) storage.Document {
	b.Helper()
	return b.put(form, b.newDocument(kind, key, edit...))
}

func (b *bundle) document(form storage.ID, kind, key string) storage.Document {
	b.Helper()
	got, err := b.store.Document(b.Context(), storage.AsHost(), form, kind, key)
	b.ok(err, "Document %s %q", kind, key)
	return got
}

func (b *bundle) noDocument(form storage.ID, kind, key, what string) {
	b.Helper()
	_, err := b.store.Document(b.Context(), storage.AsHost(), form, kind, key)
	b.is(err, storage.ErrNotFound, "Document %s %q: %s", kind, key, what)
}

// keys lists the keys of a kind.
func (b *bundle) keys(form storage.ID, kind string) (keys []string) {
	b.Helper()
	list, more, err := b.store.Documents(b.Context(), storage.AsHost(), form, storage.DocumentQuery{Kind: kind, Limit: everyRecord})
	b.ok(err, "Documents")
	same(b, more, false, "more of a page that is longer than the list")
	for _, d := range list {
		keys = append(keys, d.Key)
	}
	return keys
}

// isDocumentRevision is isRevision for a document.
func (b *bundle) isDocumentRevision(err error, kind string, current int64, what string) {
	b.Helper()
	b.isRevision(err, current, what)
	if mismatch := new(storage.RevisionError); errors.As(err, &mismatch) && mismatch.Kind != kind {
		b.Errorf("%s: want RevisionError.Kind %q, got %q", what, kind, mismatch.Kind)
	}
}

func putAndRead(b *bundle) {
	f := b.anyForm()
	c := b.newDocument(version, "0000000000000001")
	same(b, b.put(f.ID, c), documentOf(c), "result of PutDocument")
	same(b, b.document(f.ID, c.Kind, c.Key), documentOf(c), "Document")
	host := b.newDocument(workingCopy, "", func(c *storage.DocumentChange) { c.By = storage.ID{} })
	same(b, b.put(f.ID, host), documentOf(host), "result of PutDocument by the host")
	same(b, b.document(f.ID, host.Kind, host.Key), documentOf(host), "Document that the host wrote")
	same(b, b.document(f.ID, c.Kind, c.Key), documentOf(c), "Document after another document was written")
	same(b, b.getForm(f.ID), f, "Form with documents")
}

func putAgain(b *bundle) {
	f := b.anyForm()
	other := b.addDocument(f.ID, version, "b")
	want := b.addDocument(f.ID, version, "a")
	for range 3 {
		c := b.newDocument(version, "a")
		want.Value, want.By, want.UpdatedAt, want.Revision = c.Value, c.By, c.At, want.Revision+1
		same(b, b.put(f.ID, c), want, "result of PutDocument")
		same(b, b.document(f.ID, version, "a"), want, "Document")
	}
	same(b, b.document(f.ID, version, "b"), other, "Document that no call changed")
}

func putFirst(b *bundle) {
	f := b.anyForm()
	starting := func(n int64) func(*storage.DocumentChange) {
		return func(c *storage.DocumentChange) { c.InitialRevision = n }
	}
	for first, want := range map[int64]int64{-7: 1, 0: 1, 1: 1, 2: 2, 1 << 40: 1 << 40} {
		same(b, b.addDocument(f.ID, version, "a", starting(first)).Revision, want, "Revision of a document whose InitialRevision is %d", first)
		same(b, b.addDocument(f.ID, version, "a", starting(99)).Revision, want+1, "Revision of its second write, with another InitialRevision")
		b.addDocument(f.ID, version, "a", gone, starting(5))
	}
	c := b.newDocument(version, "b", starting(12), ifDocument(0))
	b.update(f.ID, storage.FormChange{Name: ptr("x"), At: b.tick(), Documents: []storage.DocumentChange{c}})
	same(b, b.document(f.ID, version, "b").Revision, 12, "Revision of a document of UpdateForm whose InitialRevision is 12")
}

func removeDocument(b *bundle) {
	f := b.anyForm()
	b.addDocument(f.ID, version, "a")
	b.addDocument(f.ID, version, "a")
	other := b.addDocument(f.ID, version, "b")
	same(b, b.addDocument(f.ID, version, "a", gone, ifDocument(2)), storage.Document{}, "result of PutDocument for a removal")
	b.noDocument(f.ID, version, "a", "after it was removed")
	b.unchanged("a removal of a missing document", func() {
		for _, c := range []storage.DocumentChange{b.newDocument(version, "a", gone), b.newDocument(version, "x", gone, isPublic), b.newDocument("x", "a", gone, ifDocument(0))} {
			same(b, b.put(f.ID, c), storage.Document{}, "result of PutDocument for a removal of a missing document")
		}
	})
	again := b.newDocument(version, "a")
	same(b, b.put(f.ID, again), documentOf(again), "a document that is created again after its removal")
	same(b, b.document(f.ID, version, "b"), other, "Document that no call changed")
}

func unknownDocument(b *bundle) {
	f := b.anyForm()
	other := b.addForm(f.WorkspaceID)
	b.addDocument(f.ID, version, "a")
	b.noDocument(f.ID, version, "b", "another key")
	b.noDocument(f.ID, version, "", "no key")
	b.noDocument(f.ID, workingCopy, "a", "another kind")
	b.noDocument(other.ID, version, "a", "another form")
	b.noDocument(newID(), version, "a", "an unknown form")
	same(b, b.keys(f.ID, workingCopy), nil, "Documents of another kind")
	same(b, b.keys(other.ID, version), nil, "Documents of another form")
	_, _, err := b.store.Documents(b.Context(), storage.AsHost(), newID(), storage.DocumentQuery{Kind: version, Limit: 1})
	b.is(err, storage.ErrNotFound, "Documents of an unknown form")
	_, err = b.store.PutDocument(b.Context(), storage.AsHost(), newID(), b.newDocument(version, "a", ifDocument(7)))
	b.is(err, storage.ErrNotFound, "PutDocument for an unknown form, with a condition that does not match")
}

// descending are keys in the order of a list: that of their bytes.
var descending = []string{
	"\U0010ffff", "\U0001f600", "\uffff", "é", "~", "z", "e\u0301", "b", "a b", "a", "_", "Z", "B", "0000000000000010", "0000000000000009", "%", " ", "",
}

func documentKeys(b *bundle) {
	f := b.anyForm()
	keys := append(slices.Clone(descending), strings.Repeat("k", 200), strings.Repeat("é", 100))
	want := map[string]storage.Document{}
	for _, key := range keys {
		want[key] = b.addDocument(f.ID, version, key)
		b.addDocument(f.ID, strings.ToUpper(version), key)
		b.addDocument(f.ID, strings.Repeat("d", 50), key)
	}
	for _, key := range keys {
		same(b, b.document(f.ID, version, key), want[key], "Document with the key %q", key)
	}
	same(b, len(b.keys(f.ID, version)), len(keys), "number of documents")
}

func documentJSON(b *bundle) {
	f := b.anyForm()
	for _, value := range []string{
		`null`, `{}`, `"x"`, `{"b":1.0,"a":[1e2,-0,12345678901234567890],"b":2}`, `{"text":"\u0000\ud83d\ude00é<"}`, `[` + strings.Repeat(`"long", `, 60_000) + `0]`,
	} {
		c := b.newDocument(version, "a", func(c *storage.DocumentChange) { c.Value = json.RawMessage(value) })
		same(b, b.put(f.ID, c).Value, c.Value, "Value that PutDocument returns")
		same(b, b.document(f.ID, version, "a").Value, c.Value, "Value of Document")
	}
}

func documentTimes(b *bundle) {
	f := b.anyForm()
	for _, when := range []time.Time{{}, at(0), at(time.Microsecond), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), at(0).In(time.FixedZone("", 3600))} {
		c := b.newDocument(version, "a", func(c *storage.DocumentChange) { c.At = when })
		got := b.put(f.ID, c)
		same(b, got.CreatedAt, when.UTC(), "CreatedAt that PutDocument returns")
		same(b, got.UpdatedAt, when.UTC(), "UpdatedAt that PutDocument returns")
		same(b, b.document(f.ID, version, "a"), got, "Document")
		b.addDocument(f.ID, version, "a", gone)
	}
}

func documentIfRevision(b *bundle) {
	f := b.anyForm()
	for i, accepted := range [][]int64{{0}, {1}, {7, 2, 9}, {0, 3}, {}} {
		same(b, b.addDocument(f.ID, version, "a", ifDocument(accepted...)).Revision, int64(i+1), "Revision after PutDocument with IfRevision %v", accepted)
	}
	b.addDocument(f.ID, version, "a", gone, ifDocument(4, 5))
	b.noDocument(f.ID, version, "a", "after a removal with a condition that matches")
	b.addDocument(f.ID, version, "a", ifDocument(9, 0))
}

func documentMismatch(b *bundle) {
	f := b.anyForm()
	b.addDocument(f.ID, version, "a")
	b.addDocument(f.ID, version, "a")
	refused := func(kind, key string, current int64, revisions ...int64) {
		b.Helper()
		for what, edit := range map[string]func(*storage.DocumentChange){"a write": isPublic, "a removal": gone, "a bound": keeping(1, 1)} {
			_, err := b.store.PutDocument(b.Context(), storage.AsHost(), f.ID, b.newDocument(kind, key, edit, ifDocument(revisions...)))
			b.isDocumentRevision(err, kind, current, fmt.Sprintf("%s of %s %q at one of %v", what, kind, key, revisions))
		}
	}
	b.unchanged("changes whose condition does not match", func() {
		refused(version, "a", 2, 1)
		refused(version, "a", 2, 3)
		refused(version, "a", 2, 0)
		refused(version, "a", 2, 0, 1, 3, -2)
		refused(version, "b", 0, 1)
		refused(workingCopy, "", 0, 2, 1)
	})
}

func publicDocument(b *bundle) {
	f := b.anyForm()
	user := b.addMember(f.WorkspaceID)
	beside := func(want int64, what string) {
		b.Helper()
		f.DocumentsRevision = want
		same(b, b.getForm(f.ID), f, "Form after %s", what)
		byPublicID, err := b.store.FormByPublicID(b.Context(), f.PublicID)
		b.ok(err, "FormByPublicID")
		same(b, byPublicID, f, "FormByPublicID after %s", what)
		list, err := b.store.Forms(b.Context(), storage.As(user), storage.FormsParams{Page: storage.Page{Limit: 10}})
		b.ok(err, "Forms")
		same(b, only(b, list, "Forms").DocumentsRevision, want, "DocumentsRevision of Forms after %s", what)
	}
	beside(0, "nothing")
	b.addDocument(f.ID, version, "a")
	beside(0, "a document that is not public")
	b.addDocument(f.ID, version, "b", isPublic)
	beside(1, "a public document")
	b.addDocument(f.ID, version, "b", isPublic)
	beside(2, "a change of it")
	b.addDocument(f.ID, version, "c", isPublic, keeping(1, 0))
	beside(3, "a partial submission that replaced two others")
	b.addDocument(f.ID, version, "x", isPublic, gone)
	beside(3, "a removal of nothing")
	b.addDocument(f.ID, version, "c", gone)
	beside(3, "a removal that is not public")
	b.addDocument(f.ID, version, "c")
	b.addDocument(f.ID, version, "c", isPublic, gone)
	beside(4, "a removal")
	_, err := b.store.PutDocument(b.Context(), storage.AsHost(), f.ID, b.newDocument(version, "d", isPublic, ifDocument(3)))
	b.isDocumentRevision(err, version, 0, "PutDocument")
	beside(4, "a change that was rejected")
}

func besideOfNewForm(b *bundle) {
	f := b.anyForm(func(f *storage.Form) { f.DocumentsRevision = 7 })
	f.DocumentsRevision = 0
	same(b, b.getForm(f.ID), f, "Form that was created with a DocumentsRevision of 7")
}

func keepCount(b *bundle) {
	f := b.anyForm()
	for i := range 6 {
		b.addDocument(f.ID, version, fmt.Sprint(i), keeping(0, 0))
	}
	b.addDocument(f.ID, version, "3", keeping(6, 0))
	same(b, b.keys(f.ID, version), []string{"5", "4", "3", "2", "1", "0"}, "keys after a write with as many documents as Retention.Count")
	b.addDocument(f.ID, version, "6", keeping(5, 0))
	same(b, b.keys(f.ID, version), []string{"6", "5", "4", "3", "2"}, "keys after a write with two documents more than Retention.Count")
	b.addDocument(f.ID, version, "1", keeping(5, 0))
	same(b, b.keys(f.ID, version), []string{"6", "5", "4", "3", "1"}, "keys after a new document with the lowest key")
	b.addDocument(f.ID, version, "3", keeping(2, 0))
	same(b, b.keys(f.ID, version), []string{"6", "3"}, "keys after a change of a document in the middle, with a smaller Retention.Count")
	b.addDocument(f.ID, version, "3", keeping(1, 0))
	same(b, b.keys(f.ID, version), []string{"3"}, "keys after a change with a Retention.Count of 1")
	b.addDocument(f.ID, version, "2", keeping(-1, -1))
	same(b, b.keys(f.ID, version), []string{"3", "2"}, "keys after a write with a negative Retention")
}

func keepBytes(b *bundle) {
	f := b.anyForm()
	for i := range 5 {
		b.addDocument(f.ID, version, fmt.Sprint(i), sized(100))
	}
	b.addDocument(f.ID, version, "2", sized(90), keeping(0, 490))
	same(b, b.keys(f.ID, version), []string{"4", "3", "2", "1", "0"}, "keys after a write with as many bytes as Retention.Bytes")
	b.addDocument(f.ID, version, "2", sized(91), keeping(0, 490))
	same(b, b.keys(f.ID, version), []string{"4", "3", "2", "1"}, "keys after a write with one byte more than Retention.Bytes")
	b.addDocument(f.ID, version, "5", sized(291), keeping(3, 490))
	same(b, b.keys(f.ID, version), []string{"5", "4"}, "keys after a write that exceeds both limits, Retention.Bytes more than Retention.Count")
	b.addDocument(f.ID, version, "3", sized(10))
	b.addDocument(f.ID, version, "1", sized(10), keeping(3, 490))
	same(b, b.keys(f.ID, version), []string{"5", "4", "1"}, "keys after a write that exceeds both limits, Retention.Count more than Retention.Bytes")
	b.addDocument(f.ID, version, "0", sized(491), keeping(0, 490))
	same(b, b.keys(f.ID, version), []string{"0"}, "keys after a write of a document that is larger than Retention.Bytes")
	b.addDocument(f.ID, version, "7", sized(100))
	b.addDocument(f.ID, version, "8", sized(300))
	b.addDocument(f.ID, version, "9", sized(100), keeping(0, 300))
	same(b, b.keys(f.ID, version), []string{"9"}, "keys: if a large document is removed, the small documents with lower keys are removed too")
}

func keepOthers(b *bundle) {
	f := b.anyForm()
	other := b.addForm(f.WorkspaceID)
	for i := range 3 {
		b.addDocument(f.ID, version, fmt.Sprint(i))
		b.addDocument(f.ID, workingCopy, fmt.Sprint(i))
		b.addDocument(other.ID, version, fmt.Sprint(i))
	}
	b.addDocument(f.ID, version, "9", gone, keeping(1, 1))
	b.addDocument(f.ID, version, "2", gone, keeping(1, 1))
	same(b, b.keys(f.ID, version), []string{"1", "0"}, "after a removal")
	_, err := b.store.PutDocument(b.Context(), storage.AsHost(), f.ID, b.newDocument(version, "2", ifDocument(7), keeping(1, 1)))
	b.isDocumentRevision(err, version, 0, "PutDocument")
	same(b, b.keys(f.ID, version), []string{"1", "0"}, "after a write that was rejected")
	b.addDocument(f.ID, version, "2", keeping(1, 1))
	same(b, b.keys(f.ID, version), []string{"2"}, "after a write")
	same(b, b.keys(f.ID, workingCopy), []string{"2", "1", "0"}, "documents of another kind")
	same(b, b.keys(other.ID, version), []string{"2", "1", "0"}, "documents of another form")
}

func listDocuments(b *bundle) {
	f := b.anyForm()
	var want []storage.Document
	for _, key := range descending {
		d := b.addDocument(f.ID, version, key)
		d.Value = nil
		want = append(want, d)
		b.addDocument(f.ID, workingCopy, key)
	}
	list, more, err := b.store.Documents(b.Context(), storage.AsHost(), f.ID, storage.DocumentQuery{Kind: version, Limit: len(want)})
	b.ok(err, "Documents")
	same(b, more, false, "more of a page that is as long as the list")
	same(b, list, want, "Documents")
	for _, d := range list {
		if d.Value != nil {
			b.Errorf("Documents: want no value, got %q", d.Value)
		}
	}
}

func pageDocuments(b *bundle) {
	f := b.anyForm()
	for _, key := range descending {
		b.addDocument(f.ID, version, key)
	}
	page := func(below *string, limit int) (keys []string, more bool) {
		b.Helper()
		list, more, err := b.store.Documents(b.Context(), storage.AsHost(), f.ID, storage.DocumentQuery{Kind: version, Below: below, Limit: limit})
		b.ok(err, "Documents")
		for _, d := range list {
			keys = append(keys, d.Key)
		}
		return keys, more
	}
	for _, limit := range []int{1, 2, 5, len(descending), everyRecord} {
		var keys []string
		var below *string
		for range len(descending) + 1 {
			found, more := page(below, limit)
			keys = append(keys, found...)
			same(b, more, len(keys) < len(descending), "more of a page of %d, after %d keys", limit, len(keys))
			if !more || len(found) == 0 {
				break
			}
			below = &found[len(found)-1]
		}
		same(b, keys, descending, "pages of %d", limit)
	}
	found, more := page(ptr("A"), 2)
	same(b, found, []string{"0000000000000010", "0000000000000009"}, "Documents below the key of a missing document")
	same(b, more, true, "more of a page in the middle")
	found, more = page(ptr(""), 2)
	same(b, found, nil, "Documents below the empty key")
	same(b, more, false, "more below the empty key")
}

func formsWithDocument(b *bundle) {
	owner := b.user()
	place := b.addWorkspace(owner).ID
	two, other, none, trashed, foreign := b.addForm(place), b.addForm(place), b.addForm(place), b.addForm(place), b.anyForm()
	b.addDocument(two.ID, version, "a")
	b.addDocument(other.ID, workingCopy, "")
	for _, f := range []storage.Form{two, trashed, foreign} {
		b.addDocument(f.ID, version, "b")
	}
	b.trashForm(trashed.ID)
	asked := []storage.ID{two.ID, other.ID, none.ID, trashed.ID, foreign.ID, newID(), two.ID}
	for actor, want := range map[storage.Actor][]storage.ID{storage.As(owner): {two.ID}, storage.As(b.user()): {}} {
		got, err := b.store.FormsWithDocument(b.Context(), actor, version, asked)
		b.ok(err, "FormsWithDocument")
		same(b, append([]storage.ID{}, got...), want, "FormsWithDocument")
	}
}

func documentsWithoutLimit(b *bundle) {
	f := b.anyForm()
	b.addDocument(f.ID, version, "a")
	b.addDocument(f.ID, version, "b")
	for _, limit := range []int{0, -1} {
		list, more, err := b.store.Documents(b.Context(), storage.AsHost(), f.ID, storage.DocumentQuery{Kind: version, Limit: limit})
		b.ok(err, "Documents")
		same(b, list, nil, "Documents with a limit of %d", limit)
		same(b, more, false, "more with a limit of %d", limit)
		_, _, err = b.store.Documents(b.Context(), storage.As(b.user()), f.ID, storage.DocumentQuery{Kind: version, Limit: limit})
		b.is(err, storage.ErrNotFound, "Documents of a form of another user with a limit of %d", limit)
	}
	same(b, b.keys(f.ID, version), []string{"b", "a"}, "Documents with a limit")
}

func documentsMove(b *bundle) {
	w := b.furnish()
	want := b.document(w.form.ID, w.document.Kind, w.document.Key)
	b.update(w.form.ID, storage.FormChange{WorkspaceID: &w.foreign.ID, At: w.now})
	for _, op := range documentOperations() {
		b.is(op.call(b.Context(), b.store, w, storage.As(w.owner)), storage.ErrNotFound, "%s by the owner of the workspace that the form left", op.method)
	}
	got, err := b.store.Document(b.Context(), storage.As(w.stranger), w.form.ID, w.document.Kind, w.document.Key)
	b.ok(err, "Document by the owner of the form's workspace")
	same(b, got, want, "Document after the form moved")
}

func documentsInTrash(b *bundle) {
	w := b.furnish()
	want := b.document(w.form.ID, w.document.Kind, w.document.Key)
	b.trashForm(w.form.ID)
	for _, op := range documentOperations() {
		b.is(op.call(b.Context(), b.store, w, storage.AsHost()), storage.ErrNotFound, "%s by the host, of a form in the trash", op.method)
		b.is(op.call(b.Context(), b.store, w, storage.As(w.owner)), storage.ErrNotFound, "%s by the owner, of a form in the trash", op.method)
	}
	b.ok(b.store.RestoreForm(b.Context(), w.form.ID, storage.ID{}, b.tick()), "RestoreForm")
	same(b, b.document(w.form.ID, w.document.Kind, w.document.Key), want, "Document after the form was restored")
	b.ok(b.store.DeleteWorkspace(b.Context(), storage.AsHost(), w.workspace.ID, b.tick()), "DeleteWorkspace")
	for _, op := range documentOperations() {
		b.is(op.call(b.Context(), b.store, w, storage.AsHost()), storage.ErrNotFound, "%s after the workspace was deleted", op.method)
	}
	b.ok(b.store.RestoreForm(b.Context(), w.form.ID, w.second.ID, b.tick()), "RestoreForm into another workspace")
	same(b, b.document(w.form.ID, w.document.Kind, w.document.Key), want, "Document after the form was restored into another workspace")
}

func documentsPurged(b *bundle) {
	w := b.furnish()
	for i := range 7 {
		b.addDocument(w.form.ID, version, fmt.Sprint(i), isPublic)
	}
	stays := b.addDocument(b.addForm(w.second.ID).ID, version, "a")
	b.trashForm(w.form.ID)
	b.ok(b.store.PurgeForm(b.Context(), w.form.ID), "PurgeForm")
	for _, op := range documentOperations() {
		b.is(op.call(b.Context(), b.store, w, storage.AsHost()), storage.ErrNotFound, "%s after the form was purged", op.method)
	}
	b.sweep(storage.SweepParams{Now: w.now, RemovalsOnly: true, Max: 2})
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), w.form), "CreateForm with the id of a purged form")
	same(b, b.keys(w.form.ID, version), nil, "Documents of a form with the ID of a purged record")
	same(b, b.getForm(w.form.ID).DocumentsRevision, 0, "DocumentsRevision of a form with the ID of a purged record")
	forms, err := b.store.Forms(b.Context(), storage.AsHost(), storage.FormsParams{WorkspaceID: w.second.ID, Page: storage.Page{Limit: 10}})
	b.ok(err, "Forms")
	same(b, b.document(only(b, forms, "Forms").ID, version, "a"), stays, "Document of another form")
}

func documentsOfUser(b *bundle) {
	w := b.furnish()
	theirs := b.addForm(w.foreign.ID)
	byOwner := b.newDocument(version, "a", func(c *storage.DocumentChange) { c.By = w.owner })
	b.put(theirs.ID, byOwner)
	b.ok(b.store.DeleteUser(b.Context(), w.owner, w.now), "DeleteUser")
	b.sweep(storage.SweepParams{Now: w.now, RemovalsOnly: true, Max: 100})
	same(b, b.document(theirs.ID, version, "a"), documentOf(byOwner), "Document that a deleted user wrote in another user's form")
	w.form.WorkspaceID = w.foreign.ID
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), w.form), "CreateForm with the id of a form of the deleted user")
	same(b, b.keys(w.form.ID, version), nil, "Documents of a form with the ID of a removed record")
}

func updateWithDocuments(b *bundle) {
	f := b.anyForm()
	b.addDocument(f.ID, workingCopy, "")
	b.addDocument(f.ID, version, "1")
	kept := b.addDocument(f.ID, version, "2")
	first, second := b.newDocument(version, "3", isPublic, ifDocument(0)), b.newDocument(version, "1", isPublic, ifDocument(1))
	f.Name, f.Revision, f.UpdatedAt, f.DocumentsRevision = "changed", 2, b.tick(), 2
	got := b.update(f.ID, storage.FormChange{
		Name: &f.Name, At: f.UpdatedAt, IfRevision: []int64{1},
		Documents: []storage.DocumentChange{first, b.newDocument(workingCopy, "", gone, ifDocument(1)), second, b.newDocument(version, "x", gone, isPublic)},
	})
	same(b, got, f, "what UpdateForm returns")
	same(b, b.getForm(f.ID), f, "Form after UpdateForm")
	b.noDocument(f.ID, workingCopy, "", "that UpdateForm removed")
	same(b, b.document(f.ID, version, "3"), documentOf(first), "Document that UpdateForm wrote")
	changed := b.document(f.ID, version, "1")
	same(b, changed.Revision, 2, "Revision of a document that UpdateForm changed")
	same(b, changed.Value, second.Value, "Value of a document that UpdateForm changed")
	same(b, b.document(f.ID, version, "2"), kept, "Document that no call changed")
}

func updateSameWithDocuments(b *bundle) {
	f := b.anyForm()
	b.addDocument(f.ID, version, "a")
	b.unchanged("UpdateForm that changes nothing of the form", func() {
		for _, c := range []storage.DocumentChange{
			b.newDocument(version, "a", isPublic), b.newDocument(version, "b", isPublic, ifDocument(7)), b.newDocument(version, "a", gone), b.newDocument(version, "c", keeping(1, 0)),
		} {
			got := b.update(f.ID, storage.FormChange{Name: &f.Name, Definition: f.Definition, At: b.tick(), Documents: []storage.DocumentChange{c}})
			same(b, got, f, "what UpdateForm returns for the same values")
		}
	})
}

func updateDocumentMismatch(b *bundle) {
	f := b.anyForm(withLimit(5))
	b.submit(f)
	b.addDocument(f.ID, version, "a")
	b.addDocument(f.ID, version, "a")
	b.unchanged("UpdateForm with the condition of a document that does not match", func() {
		for _, c := range []struct {
			what    string
			refused storage.DocumentChange
			current int64
		}{
			{"a write", b.newDocument(version, "a", ifDocument(1, 3)), 2},
			{"a removal", b.newDocument(version, "a", gone, ifDocument(0)), 2},
			{"a document that is not there", b.newDocument(workingCopy, "", ifDocument(1)), 0},
		} {
			_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID, storage.FormChange{
				Name: ptr("changed"), Status: ptr(storage.StatusDraft), Acceptance: &storage.AcceptanceRules{ResponseLimit: 9, Unique: fieldOne}, At: b.tick(),
				Definition: storage.Definition{Theme: json.RawMessage(`{}`), Format: 2},
				Documents:  []storage.DocumentChange{b.newDocument(version, "b", isPublic, keeping(1, 1)), c.refused, b.newDocument(version, "c")},
			})
			b.isDocumentRevision(err, c.refused.Kind, c.current, "UpdateForm: "+c.what)
		}
	})
}

func updateDocumentOrder(b *bundle) {
	w := b.furnish()
	stale := []storage.DocumentChange{b.newDocument(version, "x", ifDocument(7))}
	b.unchanged("UpdateForm with several faults", func() {
		for _, c := range []struct {
			what   string
			actor  storage.Actor
			change storage.FormChange
			want   error
		}{
			{"a foreign form", storage.As(w.stranger), storage.FormChange{}, storage.ErrNotFound},
			{"a foreign workspace", storage.As(w.owner), storage.FormChange{WorkspaceID: &w.foreign.ID}, storage.ErrNotFound},
			{"not the owner", storage.As(w.member), storage.FormChange{WorkspaceID: &w.second.ID}, storage.ErrNotOwner},
			{"a stale revision", storage.As(w.owner), storage.FormChange{IfRevision: []int64{9}}, storage.ErrRevisionMismatch},
		} {
			c.change.Name, c.change.At, c.change.Documents = ptr("changed"), w.now, stale
			_, err := b.store.UpdateForm(b.Context(), c.actor, w.form.ID, c.change)
			b.is(err, c.want, "UpdateForm: %s", c.what)
			if errors.Is(c.want, storage.ErrRevisionMismatch) {
				b.isDocumentRevision(err, "", w.form.Revision, "UpdateForm at a stale revision, of the form and of a document")
			}
		}
	})
}

func updateWithKeep(b *bundle) {
	f := b.anyForm()
	for i := range 5 {
		b.addDocument(f.ID, version, fmt.Sprint(i), sized(100))
	}
	b.addDocument(f.ID, workingCopy, "0")
	b.update(f.ID, storage.FormChange{Name: ptr("a"), At: b.tick(), Documents: []storage.DocumentChange{
		b.newDocument(version, "1", sized(100), keeping(4, 0)), b.newDocument(version, "5", sized(100), keeping(4, 0)),
		b.newDocument(workingCopy, "1"), b.newDocument(version, "4", gone, keeping(1, 1)),
	}})
	same(b, b.keys(f.ID, version), []string{"5", "3", "2", "1"}, "keys of two documents that were written together with a removal")
	same(b, b.keys(f.ID, workingCopy), []string{"1", "0"}, "documents of another kind")
	b.update(f.ID, storage.FormChange{Name: ptr("b"), At: b.tick(), Documents: []storage.DocumentChange{
		b.newDocument(version, "0", sized(100), keeping(0, 150)), b.newDocument(version, "2", sized(100)),
	}})
	same(b, b.keys(f.ID, version), []string{"2", "0"}, "keys of two documents that were written together, both beyond the limit")
}

func invalidDocument(b *bundle) {
	w := b.furnish()
	all := calls{}
	add := func(what string, edit func(*storage.DocumentChange)) {
		c := b.newDocument(version, "a", ifDocument(7), edit)
		for name, actor := range map[string]storage.Actor{"the host": storage.AsHost(), "an actor without access": storage.As(w.stranger)} {
			all["PutDocument by "+name+", "+what] = func() error {
				_, err := b.store.PutDocument(b.Context(), actor, w.form.ID, c)
				return err
			}
			all["UpdateForm by "+name+", "+what] = func() error {
				_, err := b.store.UpdateForm(b.Context(), actor, w.form.ID, storage.FormChange{
					Name: ptr("changed"), IfRevision: []int64{99}, At: w.now, Documents: []storage.DocumentChange{b.newDocument(version, "b"), c},
				})
				return err
			}
		}
	}
	add("no kind", func(c *storage.DocumentChange) { c.Kind = "" })
	add("a kind of 51 bytes", func(c *storage.DocumentChange) { c.Kind = strings.Repeat("k", 51) })
	add("a key of 201 bytes", func(c *storage.DocumentChange) { c.Key = strings.Repeat("é", 100) + "k" })
	add("a removal with a key of 201 bytes", func(c *storage.DocumentChange) { c.Key, c.Value = strings.Repeat("k", 201), nil })
	for _, s := range invalidTexts {
		add(fmt.Sprintf("the kind %q", s), func(c *storage.DocumentChange) { c.Kind = s })
		add(fmt.Sprintf("the key %q", s), func(c *storage.DocumentChange) { c.Key = s })
		add(fmt.Sprintf("the value %q", s), func(c *storage.DocumentChange) { c.Value = json.RawMessage(`"` + s + `"`) })
	}
	for _, when := range invalidTimes {
		add(fmt.Sprintf("the time %v", when), func(c *storage.DocumentChange) { c.At = when })
	}
	b.refuseAll(all)
}

func documentTwice(b *bundle) {
	f := b.anyForm()
	b.addDocument(f.ID, version, "a")
	change := func(changes ...storage.DocumentChange) func() error {
		return func() error {
			_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID, storage.FormChange{Name: ptr("changed"), At: b.tick(), Documents: changes})
			return err
		}
	}
	b.refuseAll(calls{
		"UpdateForm, two writes":            change(b.newDocument(version, "a"), b.newDocument(version, "b"), b.newDocument(version, "a")),
		"UpdateForm, a write and a removal": change(b.newDocument(version, "a", gone), b.newDocument(version, "a")),
	})
	b.ok(change(b.newDocument(version, "a"), b.newDocument(workingCopy, "a"), b.newDocument(version, ""))(), "UpdateForm with documents that differ in kind or key")
}

func invalidDocumentFound(b *bundle) {
	f := b.anyForm()
	b.addDocument(f.ID, version, "a")
	for _, s := range invalidTexts {
		b.noDocument(f.ID, s, "a", "a kind that is not valid")
		b.noDocument(f.ID, version, s, "a key that is not valid")
		_, _, err := b.store.Documents(b.Context(), storage.AsHost(), f.ID, storage.DocumentQuery{Kind: s, Limit: 1})
		b.is(err, storage.ErrInvalidValue, "Documents of the kind %q", s)
		_, _, err = b.store.Documents(b.Context(), storage.AsHost(), f.ID, storage.DocumentQuery{Kind: version, Below: &s, Limit: 1})
		b.is(err, storage.ErrInvalidValue, "Documents below %q", s)
	}
}

func copiesInDocument(b *bundle) {
	f := b.anyForm()
	c, revisions := b.newDocument(version, "a"), []int64{0}
	want := render(documentOf(c))
	c.IfRevision = revisions
	b.put(f.ID, c)
	spoil(c.Value)
	revisions[0] = 99
	same(b, render(b.document(f.ID, version, "a")), want, "Document after the caller overwrote the arguments of PutDocument")
	c = b.newDocument(version, "b")
	want = render(documentOf(c))
	changes := []storage.DocumentChange{c}
	b.update(f.ID, storage.FormChange{Name: ptr("x"), At: b.tick(), Documents: changes})
	spoil(c.Value)
	clear(changes)
	same(b, render(b.document(f.ID, version, "b")), want, "Document after the caller overwrote the arguments of UpdateForm")
}

func copiesOutDocument(b *bundle) {
	f := b.anyForm()
	c := b.newDocument(version, "a")
	want := render(documentOf(c))
	spoil(b.put(f.ID, c).Value)
	same(b, render(b.document(f.ID, version, "a")), want, "Document after the caller overwrote the result of PutDocument")
	spoil(b.document(f.ID, version, "a").Value)
	same(b, render(b.document(f.ID, version, "a")), want, "Document after the caller overwrote the result of Document")
	list, _, err := b.store.Documents(b.Context(), storage.AsHost(), f.ID, storage.DocumentQuery{Kind: version, Limit: 9})
	b.ok(err, "Documents")
	clear(list)
	same(b, render(b.document(f.ID, version, "a")), want, "Document after the caller overwrote the list that it got")
}

// eitherHandle is one handle or the other, by turns.
func (b *bundle) eitherHandle(i int) storage.Storage {
	if i%2 == 0 {
		return b.store
	}
	return b.second
}

// putTogether makes changes of documents of one form at the same time.
func (b *bundle) putTogether(form storage.ID, n int, change func(i int) storage.DocumentChange) []error {
	return together(n, func(i int) error {
		_, err := b.eitherHandle(i).PutDocument(b.Context(), storage.AsHost(), form, change(i))
		return err
	})
}

func concurrentCreate(b *bundle) {
	f := b.anyForm()
	for i := range 4 {
		key := fmt.Sprint(i)
		errs := b.putTogether(f.ID, 20, func(int) storage.DocumentChange {
			c := documentAt(version, key, at(0))
			c.IfRevision = []int64{0}
			return c
		})
		same(b, b.outcome(errs, storage.ErrRevisionMismatch, "PutDocument"), 1, "writes that made the document")
		same(b, b.document(f.ID, version, key).Revision, 1, "Revision")
	}
}

func concurrentRevision(b *bundle) {
	f := b.anyForm()
	b.addDocument(f.ID, version, "a")
	for i := range int64(4) {
		errs := b.putTogether(f.ID, 20, func(int) storage.DocumentChange {
			c := documentAt(version, "a", at(0))
			c.IfRevision, c.Public = []int64{i + 1}, true
			return c
		})
		same(b, b.outcome(errs, storage.ErrRevisionMismatch, "PutDocument"), 1, "writes that were made")
		same(b, b.document(f.ID, version, "a").Revision, i+2, "Revision")
		same(b, b.getForm(f.ID).DocumentsRevision, i+1, "Beside")
	}
}

func concurrentWrites(b *bundle) {
	f := b.anyForm()
	const writes = 40
	for _, err := range b.putTogether(f.ID, writes, func(i int) storage.DocumentChange {
		c := documentAt(version, fmt.Sprint(i%2), at(0))
		c.Public = i%4 < 2
		return c
	}) {
		b.ok(err, "PutDocument concurrently with other calls")
	}
	same(b, b.document(f.ID, version, "0").Revision, writes/2, "Revision of one document")
	same(b, b.document(f.ID, version, "1").Revision, writes/2, "Revision of the other document")
	got := b.getForm(f.ID)
	same(b, got.DocumentsRevision, writes/2, "Beside")
	same(b, got.Revision, 1, "Revision of the form")
}

func concurrentKeep(b *bundle) {
	f := b.anyForm()
	for _, err := range b.putTogether(f.ID, 40, func(i int) storage.DocumentChange {
		c := documentAt(version, fmt.Sprintf("%02d", i), at(0))
		c.Retention.Count = 5
		return c
	}) {
		b.ok(err, "PutDocument concurrently with other calls")
	}
	keys := b.keys(f.ID, version)
	same(b, len(keys), 5, "number of documents")
	// The last write stays whatever its key is; all others have the highest keys.
	for _, key := range []string{"39", "38", "37", "36"} {
		if !slices.Contains(keys, key) {
			b.Errorf("Documents: want the four with the highest keys among them, got %q", keys)
		}
	}
}

func concurrentUpdates(b *bundle) {
	f := b.anyForm()
	b.addDocument(f.ID, version, "a")
	for i := range int64(4) {
		names := make([]string, 12)
		for n := range names {
			names[n] = text("Form")
		}
		errs := together(len(names), func(n int) error {
			c := documentAt(version, "a", at(0))
			c.Value, c.IfRevision, c.Public = json.RawMessage(fmt.Sprintf("%q", names[n])), []int64{i + 1}, true
			_, err := b.eitherHandle(n).UpdateForm(b.Context(), storage.AsHost(), f.ID, storage.FormChange{
				Name: &names[n], At: at(0), Documents: []storage.DocumentChange{c, documentAt(version, names[n], at(0))},
			})
			return err
		})
		same(b, b.outcome(errs, storage.ErrRevisionMismatch, "UpdateForm"), 1, "changes that were made")
		got := b.getForm(f.ID)
		same(b, got.Revision, i+2, "Revision of the form")
		same(b, got.DocumentsRevision, i+1, "Beside")
		same(b, b.document(f.ID, version, "a").Value, json.RawMessage(fmt.Sprintf("%q", got.Name)), "Value, which is of the change that the form has")
		b.document(f.ID, version, got.Name)
		same(b, len(b.keys(f.ID, version)), int(i)+2, "number of documents")
	}
}

func concurrentTrash(b *bundle) {
	for range 4 {
		f := b.anyForm()
		errs := together(17, func(i int) error {
			if i == 8 {
				return b.store.TrashForm(b.Context(), storage.AsHost(), f.ID, storage.TrashParams{At: at(time.Hour)})
			}
			_, err := b.second.PutDocument(b.Context(), storage.AsHost(), f.ID, documentAt(version, fmt.Sprint(i), at(0)))
			return err
		})
		b.ok(errs[8], "TrashForm concurrently with PutDocument")
		accepted := b.outcome(errs, storage.ErrNotFound, "PutDocument") - 1
		b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, at(2*time.Hour)), "RestoreForm")
		same(b, len(b.keys(f.ID, version)), accepted, "number of documents: as many as were accepted")
	}
}
