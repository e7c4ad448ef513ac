package storagetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/formsvc/formsvc/storage"
)

func duplicateCases() []Case {
	return []Case{
		{"covered_when_empty", "DuplicateCheckReady is immediately true for a form with a unique field and no submissions, and never without a unique field.", coveredWhenEmpty},
		{"earlier_submissions", "After the submissions from before a unique field was set are indexed, DuplicateCheckReady is true and their answers are taken.", entersEarlier},
		{"taken_while_any_has_it", "An answer of several submissions is free when the last of them is deleted.", takenWhileAnyHasIt},
		{"pieces", "PendingBackfill respects Max and MaxBytes, returns one submission whatever its size, and returns each submission once.", entersInPieces},
		{"deleted_meanwhile", "A submission that is deleted between PendingBackfill and BackfillAnswers is not indexed.", deletedBeforeEntry},
		{"place_of_another_round", "BackfillAnswers with a cursor from before a restart of the backfill does nothing.", staleEntryPlace},
		{"entered_twice", "BackfillAnswers with a cursor that another process has already used does nothing.", enteredTwice},
		{"field_set_again", "Entries of an earlier unique field are retained, and only later submissions are indexed when the field is set again.", fieldSetAgain},
		{"same_field", "Acceptance rules with the same block do not change Rules and DuplicateCheckReady.", sameField},
		{"newer_rules", "PendingBackfill with newer rules restarts the backfill, and with older rules returns nothing.", newerRules},
		{"submit_by_other_rules", "A submission with other rules than the form restarts the backfill with the newer rules.", submitByOtherRules},
		{"trash", "PendingBackfill omits the submissions of a form in the trash, and returns them after the form is restored.", entersNoTrash},
		{"purged", "A new form with the ID of a purged form has none of its entries.", entriesArePurged},
		{"every_form_in_turn", "PendingBackfill does not skip a form permanently while another form has many submissions to index.", entersEveryForm},
		{"by_form", "The entries of one form do not affect another form.", entriesByForm},
	}
}

func concurrentDuplicateCases() []Case {
	return []Case{
		{"unique_when_covered", "Of 64 concurrent submissions with a free answer, exactly one is stored, and none with an answer that an old submission has.", parallelCovered},
		{"enter_and_submit", "Two processes that backfill while submissions are stored and deleted index each submission once.", parallelEntering},
		{"enter_and_change", "If a unique field changes while two processes backfill, DuplicateCheckReady is true only after all its answers are indexed.", parallelFieldChange},
	}
}

// The two fields of the cases. Submissions have the same answer to both.
var (
	fieldOne = storage.UniqueField{Block: "q1", Rules: 1}
	fieldTwo = storage.UniqueField{Block: "q2", Rules: 1}
)

func withUnique(field storage.UniqueField) func(*storage.Form) {
	return func(f *storage.Form) { f.Acceptance.Unique, f.DuplicateCheckReady = field, true }
}

// answered gives a response an answer that is not checked.
func answered(answer string) func(*storage.NewSubmission) {
	return func(n *storage.NewSubmission) {
		n.Submission.Answers = jsonText(fmt.Sprintf(`[{"field":{"id":"q1"},"value":%q}]`, answer))
	}
}

// unique gives a response an answer that is checked for a field.
func unique(field storage.UniqueField, answer string) func(*storage.NewSubmission) {
	return func(n *storage.NewSubmission) {
		answered(answer)(n)
		n.UniqueField, n.UniqueAnswer = field, []byte(answer)
	}
}

func (b *bundle) setField(form storage.ID, field storage.UniqueField) storage.Form {
	b.Helper()
	return b.update(form, storage.FormChange{Acceptance: &storage.AcceptanceRules{Unique: field}, At: b.tick()})
}

func notEntered(b *bundle, store storage.Storage, p storage.PendingBackfillParams) storage.PendingBackfill {
	b.Helper()
	got, err := store.PendingBackfill(b.Context(), p)
	b.ok(err, "PendingBackfill")
	return got
}

func enter(b *bundle, store storage.Storage, piece storage.PendingBackfill) {
	b.Helper()
	b.ok(store.BackfillAnswers(b.Context(), piece.Cursor, digests(piece)), "BackfillAnswers")
}

// digests are the answers themselves.
func digests(piece storage.PendingBackfill) []storage.AnswerDigest {
	var out []storage.AnswerDigest
	for _, s := range piece.Submissions {
		out = append(out, storage.AnswerDigest{Submission: s.ID, Digest: []byte(answerIn(s.Answers))})
	}
	return out
}

// enterAll enters until there is nothing left.
func (b *bundle) enterAll(rules int) (pieces int) {
	b.Helper()
	for {
		piece := notEntered(b, b.store, storage.PendingBackfillParams{Rules: rules, Max: 100})
		if piece.Cursor.Form.IsZero() {
			return pieces
		}
		enter(b, b.store, piece)
		if pieces++; pieces > 1000 {
			b.Fatalf("PendingBackfill: the backfill does not end")
		}
	}
}

func (b *bundle) covered(form storage.ID, want bool, when string) {
	b.Helper()
	same(b, b.getForm(form).DuplicateCheckReady, want, "DuplicateCheckReady %s", when)
}

// taken holds an answer to a field against what has to be.
func (b *bundle) taken(form storage.ID, field storage.UniqueField, answer string, want bool, when string) {
	b.Helper()
	n := b.newSubmission(b.getForm(form))
	unique(field, answer)(&n)
	_, _, err := b.store.Submit(b.Context(), n)
	if want {
		b.is(err, storage.ErrDuplicate, "Submit of %q, %s", answer, when)
		return
	}
	b.ok(err, "Submit of %q, %s", answer, when)
	b.deleteSubmission(n)
}

func coveredWhenEmpty(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	got := b.getForm(f.ID)
	same(b, got.Acceptance, f.Acceptance, "Gate")
	b.covered(f.ID, true, "of a new form with a unique field")
	byKey, err := b.store.FormByPublicID(b.Context(), f.PublicID)
	b.ok(err, "FormByPublicID")
	same(b, byKey, got, "FormByPublicID")
	list, err := b.store.Forms(b.Context(), storage.AsHost(), storage.FormsParams{Page: storage.Page{Limit: 10}})
	b.ok(err, "Forms")
	same(b, only(b, list, "Forms").DuplicateCheckReady, true, "DuplicateCheckReady in the list")

	g := b.addForm(f.WorkspaceID)
	b.covered(g.ID, false, "without a unique field")
	same(b, b.setField(g.ID, fieldOne).DuplicateCheckReady, true, "DuplicateCheckReady that UpdateForm returns for a form without submissions")
	b.covered(g.ID, true, "after a unique field was set for a form without submissions")
	same(b, b.setField(g.ID, storage.UniqueField{}).DuplicateCheckReady, false, "DuplicateCheckReady that UpdateForm returns without a unique field")
	b.covered(g.ID, false, "after the unique field was removed")
	same(b, notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 10}), storage.PendingBackfill{}, "PendingBackfill when no form needs a backfill")
}

func entersEarlier(b *bundle) {
	f := b.anyForm()
	for _, answer := range []string{"a", "b", "a"} {
		b.submit(f, answered(answer))
	}
	f = b.setField(f.ID, fieldOne)
	same(b, f.DuplicateCheckReady, false, "DuplicateCheckReady in the result of UpdateForm before earlier submissions are indexed")
	b.submit(f, unique(fieldOne, "c"))
	b.taken(f.ID, fieldOne, "c", true, "which was stored after the field was set")
	b.covered(f.ID, false, "before the first batch is indexed")
	same(b, notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 0}), storage.PendingBackfill{}, "PendingBackfill with a Max of 0")
	same(b, b.enterAll(1), 1, "pieces")
	b.covered(f.ID, true, "after all answers are indexed")
	for _, answer := range []string{"a", "b", "c"} {
		b.taken(f.ID, fieldOne, answer, true, "when all answers are indexed")
	}
	b.taken(f.ID, fieldOne, "d", false, "which no submission has")
	b.taken(f.ID, fieldTwo, "a", false, "of another field")
}

func takenWhileAnyHasIt(b *bundle) {
	f := b.anyForm()
	old := map[string][]storage.NewSubmission{}
	for range 3 {
		for _, value := range []string{"a", "b"} {
			old[value] = append(old[value], b.submit(f, answered(value)))
		}
	}
	// A store that enters only the one with the lowest or highest ID is found by one order
	// or the other.
	for _, of := range old {
		slices.SortFunc(of, func(x, y storage.NewSubmission) int {
			return bytes.Compare(x.Submission.ID[:], y.Submission.ID[:])
		})
	}
	slices.Reverse(old["b"])
	f = b.setField(f.ID, fieldOne)
	b.enterAll(1)
	for _, value := range []string{"a", "b"} {
		for i, s := range old[value] {
			b.taken(f.ID, fieldOne, value, true, fmt.Sprintf("which %d submissions have", len(old[value])-i))
			b.deleteSubmission(s)
		}
		b.taken(f.ID, fieldOne, value, false, "when all that had it are deleted")
		now := b.submit(b.getForm(f.ID), unique(fieldOne, value))
		b.deleteSubmission(now)
		b.taken(f.ID, fieldOne, value, false, "when the one that was stored later is deleted")
	}
}

func entersInPieces(b *bundle) {
	const n = 7
	f := b.anyForm()
	for i := range n {
		b.submit(f, answered(fmt.Sprint(i)))
	}
	f = b.setField(f.ID, fieldOne)
	seen := map[storage.ID]bool{}
	for i := range n {
		p := storage.PendingBackfillParams{Rules: 1, Max: 2}
		if i%2 == 0 {
			p = storage.PendingBackfillParams{Rules: 1, Max: 100, MaxBytes: 1}
		}
		piece := notEntered(b, b.store, p)
		if len(piece.Submissions) > 2 || p.MaxBytes > 0 && len(piece.Submissions) > 1 {
			b.Errorf("PendingBackfill: got %d submissions for %+v", len(piece.Submissions), p)
		}
		again := notEntered(b, b.store, p)
		same(b, again, piece, "PendingBackfill again, before the batch is indexed")
		for _, s := range piece.Submissions {
			if seen[s.ID] {
				b.Errorf("PendingBackfill: submission %s was already in an earlier batch", s.ID)
			}
			seen[s.ID] = true
		}
		enter(b, b.store, piece)
		b.covered(f.ID, len(seen) == n && piece.Cursor.To.IsZero(), fmt.Sprintf("after %d batches", i+1))
	}
	b.enterAll(1)
	same(b, len(seen), n, "submissions that PendingBackfill returned")
	b.covered(f.ID, true, "after all batches")
	for i := range n {
		b.taken(f.ID, fieldOne, fmt.Sprint(i), true, "which was indexed")
	}
}

func deletedBeforeEntry(b *bundle) {
	f := b.anyForm()
	gone := b.submit(f, answered("a"))
	b.submit(f, answered("b"))
	f = b.setField(f.ID, fieldOne)
	piece := notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 10})
	same(b, len(piece.Submissions), 2, "submissions to enter")
	b.deleteSubmission(gone)
	enter(b, b.store, piece)
	b.covered(f.ID, true, "after the batch")
	b.taken(f.ID, fieldOne, "a", false, "whose submission is deleted")
	b.taken(f.ID, fieldOne, "b", true, "whose submission exists")
}

func staleEntryPlace(b *bundle) {
	f := b.anyForm()
	b.submit(f, answered("a"))
	f = b.setField(f.ID, fieldOne)
	stale := notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 10})
	b.setField(f.ID, fieldTwo)
	enter(b, b.store, stale)
	b.covered(f.ID, false, "after answers to another field were indexed")
	b.submit(b.getForm(f.ID), unique(fieldTwo, "b"))
	b.setField(f.ID, fieldOne)
	enter(b, b.store, stale)
	b.covered(f.ID, false, "after BackfillAnswers with a batch from before the field was set again")
	b.enterAll(1)
	b.covered(f.ID, true, "after all answers are indexed")
	for _, answer := range []string{"a", "b"} {
		b.taken(f.ID, fieldOne, answer, true, "when all answers are indexed")
	}
	b.ok(b.store.BackfillAnswers(b.Context(), storage.BackfillCursor{Form: newID(), Field: fieldOne}, nil), "BackfillAnswers for a form that no longer exists")
}

func enteredTwice(b *bundle) {
	f := b.anyForm()
	first, second := b.submit(f, answered("a")), b.submit(f, answered("b"))
	f = b.setField(f.ID, fieldOne)
	piece := notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 1})
	other := notEntered(b, b.second, storage.PendingBackfillParams{Rules: 1, Max: 1})
	enter(b, b.store, piece)
	enter(b, b.second, other)
	b.covered(f.ID, false, "after the first of two batches was indexed twice")
	b.enterAll(1)
	enter(b, b.second, other)
	b.covered(f.ID, true, "after all answers are indexed")
	b.deleteSubmission(first)
	b.deleteSubmission(second)
	for _, answer := range []string{"a", "b"} {
		b.taken(f.ID, fieldOne, answer, false, "whose submission was indexed once and is deleted")
	}
}

func fieldSetAgain(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	b.submit(f, unique(fieldOne, "a"))
	f = b.setField(f.ID, storage.UniqueField{})
	b.submit(f, answered("a"))
	b.submit(f, answered("b"))
	f = b.setField(f.ID, fieldTwo)
	b.submit(f, unique(fieldTwo, "c"))
	f = b.setField(f.ID, fieldOne)
	b.covered(f.ID, false, "when the field is set again")
	b.taken(f.ID, fieldOne, "a", true, "which was indexed when the field was set earlier")
	b.enterAll(1)
	b.covered(f.ID, true, "after the later submissions are indexed")
	for _, answer := range []string{"a", "b", "c"} {
		b.taken(f.ID, fieldOne, answer, true, "when all answers are indexed")
	}
}

func sameField(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	b.submit(f, unique(fieldOne, "a"))
	newer := storage.UniqueField{Block: fieldOne.Block, Rules: 2}
	same(b, b.setField(f.ID, newer).Revision, f.Revision, "Revision after a gate that differs in the rules only")
	got := b.update(f.ID, storage.FormChange{Acceptance: &storage.AcceptanceRules{Unique: newer, ResponseLimit: 5}, At: b.tick()})
	same(b, got.Acceptance, storage.AcceptanceRules{Unique: fieldOne, ResponseLimit: 5}, "Gate")
	b.covered(f.ID, true, "after a gate with the same block")
}

func newerRules(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	b.submit(f, unique(fieldOne, "a"))
	newer := storage.UniqueField{Block: fieldOne.Block, Rules: 2}
	piece := notEntered(b, b.store, storage.PendingBackfillParams{Rules: 2, Max: 10})
	same(b, piece.Cursor.Field, newer, "Place.Field")
	same(b, b.getForm(f.ID).Acceptance.Unique, newer, "Acceptance.Unique after PendingBackfill with newer rules")
	b.covered(f.ID, false, "when entering begins by newer rules")
	same(b, notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 10}), storage.PendingBackfill{}, "PendingBackfill with older rules")
	enter(b, b.store, piece)
	b.covered(f.ID, true, "after all answers are indexed with the newer rules")
	b.taken(f.ID, newer, "a", true, "by the newer rules")
	same(b, b.getForm(f.ID).Revision, f.Revision, "Revision")
}

func submitByOtherRules(b *bundle) {
	f := b.anyForm(withUnique(fieldOne))
	b.submit(f, unique(fieldOne, "a"))
	newer := storage.UniqueField{Block: fieldOne.Block, Rules: 2}
	b.submit(f, unique(newer, "b"))
	same(b, b.getForm(f.ID).Acceptance.Unique, newer, "Acceptance.Unique after a submission with newer rules")
	b.covered(f.ID, false, "after a submission by newer rules")
	b.enterAll(2)
	b.covered(f.ID, true, "after all answers are indexed with the newer rules")
	b.submit(f, unique(fieldOne, "c"))
	same(b, b.getForm(f.ID).Acceptance.Unique, newer, "Acceptance.Unique after a submission with older rules")
	b.covered(f.ID, false, "after a submission by older rules")
	b.enterAll(2)
	for _, answer := range []string{"a", "b", "c"} {
		b.taken(f.ID, newer, answer, true, "when all answers are indexed with the newer rules")
	}
}

func entersNoTrash(b *bundle) {
	f := b.anyForm()
	b.submit(f, answered("a"))
	f = b.setField(f.ID, fieldOne)
	piece := notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 10})
	b.trashForm(f.ID)
	same(b, notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 10}), storage.PendingBackfill{}, "PendingBackfill for a form in the trash")
	enter(b, b.store, piece)
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	b.covered(f.ID, false, "after BackfillAnswers for a form in the trash")
	b.enterAll(1)
	b.covered(f.ID, true, "after all answers are indexed")
	b.taken(f.ID, fieldOne, "a", true, "when all answers are indexed")

	b.trashForm(f.ID)
	same(b, notEntered(b, b.store, storage.PendingBackfillParams{Rules: 2, Max: 10}), storage.PendingBackfill{}, "PendingBackfill with newer rules")
	b.ok(b.store.RestoreForm(b.Context(), f.ID, storage.ID{}, b.tick()), "RestoreForm")
	b.covered(f.ID, false, "that was in the trash when PendingBackfill had newer rules")
}

func entriesArePurged(b *bundle) {
	f := b.anyForm()
	b.submit(f, answered("a"))
	b.setField(f.ID, fieldOne)
	b.enterAll(1)
	b.trashForm(f.ID)
	b.sweep(storage.SweepParams{Now: soon(), TrashBefore: soon(), Max: 100})
	f.Acceptance.Unique = fieldOne
	b.ok(b.store.CreateForm(b.Context(), storage.AsHost(), f), "CreateForm with the id of a purged form")
	b.covered(f.ID, true, "of a new form with the ID of a purged record")
	b.taken(f.ID, fieldOne, "a", false, "which a form had that is purged")
}

func entersEveryForm(b *bundle) {
	large, small := b.anyForm(), b.anyForm()
	for i := range 20 {
		b.submit(large, answered(fmt.Sprint(i)))
	}
	for i := range 3 {
		b.submit(small, answered(fmt.Sprint(i)))
	}
	b.setField(large.ID, fieldOne)
	b.setField(small.ID, fieldOne)
	for range 12 {
		enter(b, b.store, notEntered(b, b.store, storage.PendingBackfillParams{Rules: 1, Max: 1}))
	}
	b.covered(small.ID, true, "after 12 batches of one submission, of which the small form needs 4")
	b.covered(large.ID, false, "after 12 batches of one submission")
	b.enterAll(1)
	b.covered(large.ID, true, "after all batches")
}

func entriesByForm(b *bundle) {
	one, two := b.anyForm(withUnique(fieldOne)), b.anyForm()
	b.submit(one, unique(fieldOne, "a"))
	b.submit(two, answered("b"))
	two = b.setField(two.ID, fieldOne)
	b.enterAll(1)
	b.taken(one.ID, fieldOne, "b", false, "which another form has")
	b.taken(two.ID, fieldOne, "a", false, "which another form has")
	b.taken(two.ID, fieldOne, "b", true, "which the form has")
}

func parallelCovered(b *bundle) {
	f := b.anyForm()
	b.submit(f, answered("old"))
	f = b.setField(f.ID, fieldOne)
	b.enterAll(1)
	f = b.getForm(f.ID)
	errs := together(128, func(i int) error {
		answer := "new"
		if i%2 == 1 {
			answer = "old"
		}
		n := submissionAt(f, at(0))
		unique(fieldOne, answer)(&n)
		_, _, err := b.store.Submit(b.Context(), n)
		return err
	})
	same(b, b.outcome(errs, storage.ErrDuplicate, "Submit"), 1, "calls of Submit that succeeded")
	same(b, len(b.submissions(f.ID)), 2, "number of submissions")
}

func parallelEntering(b *bundle) {
	const n = 40
	f := b.anyForm()
	var old []storage.NewSubmission
	for i := range n {
		old = append(old, b.submit(f, answered(fmt.Sprint(i))))
	}
	f = b.setField(f.ID, fieldOne)
	stored := make([]storage.NewSubmission, 2*n)
	errs := together(2*n+2, func(i int) error {
		if i >= 2*n {
			return enterUntilCovered(b, []storage.Storage{b.store, b.second}[i-2*n], f.ID)
		}
		s := submissionAt(f, at(0))
		unique(fieldOne, fmt.Sprint("new", i/2))(&s)
		_, _, err := b.store.Submit(b.Context(), s)
		if err == nil {
			stored[i] = s
		}
		if i < n/2 { // of those that are being entered
			return errors.Join(ignoring(err, storage.ErrDuplicate),
				b.store.DeleteSubmission(b.Context(), storage.AsHost(), f.ID, old[i].Submission.ID))
		}
		return ignoring(err, storage.ErrDuplicate)
	})
	for _, err := range errs {
		b.ok(err, "Submit, DeleteSubmission, PendingBackfill and BackfillAnswers concurrently")
	}
	b.covered(f.ID, true, "after all answers are indexed")
	for i := range old {
		b.taken(f.ID, fieldOne, fmt.Sprint(i), i >= n/2, "which an old submission has, or had when it was deleted meanwhile")
	}
	for i := range n {
		a, c := stored[2*i], stored[2*i+1]
		if a.UniqueAnswer != nil == (c.UniqueAnswer != nil) {
			b.Errorf("Submit: want exactly one of two submissions with the same answer to be stored")
			continue
		}
		if a.UniqueAnswer == nil {
			a = c
		}
		b.taken(f.ID, fieldOne, string(a.UniqueAnswer), true, "which was stored meanwhile")
		b.deleteSubmission(a)
		b.taken(f.ID, fieldOne, string(a.UniqueAnswer), false, "whose only submission is deleted")
	}
}

func parallelFieldChange(b *bundle) {
	const n = 30
	f := b.anyForm()
	for i := range n {
		b.submit(f, answered(fmt.Sprint(i)))
	}
	f = b.setField(f.ID, fieldOne)
	fields := []storage.UniqueField{fieldTwo, {}, fieldOne, fieldTwo, fieldOne}
	errs := together(4, func(i int) error {
		switch i {
		case 0:
			for _, field := range fields {
				_, err := b.store.UpdateForm(b.Context(), storage.AsHost(), f.ID,
					storage.FormChange{Acceptance: &storage.AcceptanceRules{Unique: field}, At: at(0)})
				if err != nil {
					return err
				}
			}
			return nil
		case 1: // answers that are new, at whatever field there is
			for j := range n {
				for {
					now, err := b.store.Form(b.Context(), storage.AsHost(), f.ID)
					if err != nil {
						return err
					}
					s := submissionAt(now, at(0))
					answered(fmt.Sprint("new", j))(&s)
					if field := now.Acceptance.Unique; field != (storage.UniqueField{}) {
						unique(field, fmt.Sprint("new", j))(&s)
					}
					if _, _, err = b.store.Submit(b.Context(), s); err == nil {
						break
					} else if !errors.Is(err, storage.ErrRevisionMismatch) {
						return err
					}
				}
			}
			return nil
		}
		store := []storage.Storage{b.store, b.second}[i-2]
		for range 20 {
			piece, err := store.PendingBackfill(b.Context(), storage.PendingBackfillParams{Rules: 1, Max: 5})
			if err == nil && !piece.Cursor.Form.IsZero() {
				err = store.BackfillAnswers(b.Context(), piece.Cursor, digests(piece))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, err := range errs {
		b.ok(err, "UpdateForm, Submit, PendingBackfill and BackfillAnswers concurrently")
	}
	b.enterAll(1)
	b.covered(f.ID, true, "after all answers are indexed")
	for i := range n {
		b.taken(f.ID, fieldOne, fmt.Sprint(i), true, "which was there before")
		b.taken(f.ID, fieldOne, fmt.Sprint("new", i), true, "which was submitted while the field changed")
	}
}

// enterUntilCovered enters piece by piece.
func enterUntilCovered(b *bundle, store storage.Storage, form storage.ID) error {
	for range 1000 {
		piece, err := store.PendingBackfill(b.Context(), storage.PendingBackfillParams{Rules: 1, Max: 3})
		if err != nil {
			return err
		}
		if err := store.BackfillAnswers(b.Context(), piece.Cursor, digests(piece)); err != nil {
			return err
		}
		f, err := store.Form(b.Context(), storage.AsHost(), form)
		if err != nil || f.DuplicateCheckReady {
			return err
		}
	}
	return errors.New("DuplicateCheckReady is still false after 1,000 batches")
}

func ignoring(err, ignored error) error {
	if errors.Is(err, ignored) {
		return nil
	}
	return err
}

func jsonText(s string) json.RawMessage { return json.RawMessage(s) }

// answerIn is the first answer of a list.
func answerIn(list json.RawMessage) string {
	var items []struct{ Value string }
	if err := json.Unmarshal(list, &items); err != nil || len(items) == 0 {
		return ""
	}
	return items[0].Value
}
