package intake

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

// knowing is an intake that knows no form yet. It has no storage.
func knowing() Intake { return New(new(core.Core), nil, false) }

// read returns a form as a storage reads it: its bytes are in no other form.
func read(revision int64, blocks string) storage.Form {
	return storage.Form{ID: storage.ID{1}, Revision: revision, Status: storage.StatusPublished, FormContent: storage.FormContent{Definition: storage.Definition{
		Blocks: json.RawMessage(strings.Clone(blocks)), Settings: json.RawMessage(`{"closedMessage":"Closed"}`), Theme: json.RawMessage(`{}`),
		Variables: json.RawMessage(`{}`), HiddenFields: json.RawMessage(`[]`),
	}}}
}

func know(t *testing.T, s Intake, f storage.Form) *CompiledForm {
	t.Helper()
	known, err := s.compileCached(f)
	expect.NoError(t, err)
	if known.Revision != f.Revision || known.Status != f.Status || known.Acceptance != f.Acceptance || !known.Definition.Equal(&f.Definition) {
		t.Errorf("what is known of %+v is %+v", f, known.Form)
	}
	return known
}

func firstByte(raw json.RawMessage) *byte { return unsafe.SliceData(raw) }

const oneBlock, anotherBlock = `[{"id":"q","type":"short_text","label":"Why?"}]`, `[{"id":"q","type":"short_text","label":"How?"}]`

// What a definition says is found out once, and its bytes are kept once, however often
// and by whichever storage it is read.
func TestADefinitionIsKnownOnce(t *testing.T) {
	t.Parallel()
	s := knowing()
	tx := s
	tx.inHostTransaction = true
	first := know(t, s, read(1, oneBlock))
	for name, c := range map[string]struct {
		on Intake
		f  storage.Form
	}{
		"again":                      {s, read(1, oneBlock)},
		"at another revision":        {s, read(2, oneBlock)},
		"in a transaction":           {tx, read(1, oneBlock)},
		"in one that has changed it": {tx, read(3, oneBlock)},
	} {
		got := know(t, c.on, c.f)
		expect.That(t, got.answers == first.answers && &got.Blocks[0] == &first.Blocks[0],
			"%s, the definition is decoded or compiled once more", name)
		for i, section := range [][2]json.RawMessage{
			{got.Definition.Blocks, first.Definition.Blocks}, {got.Definition.Settings, first.Definition.Settings}, {got.Definition.Theme, first.Definition.Theme},
			{got.Definition.Variables, first.Definition.Variables}, {got.Definition.HiddenFields, first.Definition.HiddenFields},
		} {
			expect.That(t, firstByte(section[0]) == firstByte(section[1]), "%s, section %d is there twice", name, i)
		}
	}
	page, known, err := s.withCompiled(read(1, oneBlock), nil)
	if err != nil || firstByte(page.Definition.Blocks) != firstByte(first.Definition.Blocks) || &known.Blocks[0] != &first.Blocks[0] || known.Settings.ClosedMessage != "Closed" {
		t.Errorf("the page gets another definition: %+v, %+v, %v", page, known, err)
	}
	if other := know(t, s, read(1, anotherBlock)); other.answers == first.answers || other.Blocks[0].Label != "How?" {
		t.Errorf("of another definition at the same revision %+v is known", other.Blocks)
	}
	draft := read(1, anotherBlock)
	draft.Status = storage.StatusDraft
	know(t, s, draft)
}

// A revision of a transaction may be rolled back and come to mean another form, so that
// Submit must not rely on one.
func TestAFormOfATransactionTakesNoPlaceOfACommittedOne(t *testing.T) {
	t.Parallel()
	s := knowing()
	tx := s
	tx.inHostTransaction = true
	cached := func() *CompiledForm {
		known, _ := s.forms.Get(storage.ID{1})
		return known
	}
	got := know(t, tx, read(2, oneBlock))
	expect.That(t, cached() == got && !got.committed, "a form of a transaction is not remembered, or as a committed one: %+v", got.Form)
	if got := know(t, tx, read(2, anotherBlock)); cached() != got || got.committed {
		t.Error("a form of another transaction does not take the place of the first")
	}
	if got := know(t, s, read(2, anotherBlock)); cached() != got || !got.committed {
		t.Error("a committed form does not take the place of the same one of a transaction")
	}
	for _, f := range []storage.Form{read(3, oneBlock), read(3, anotherBlock)} {
		if got := know(t, tx, f); cached() == got || !cached().committed || cached().Revision != 2 {
			t.Error("a form of a transaction takes the place of a committed one")
		}
	}
	got = know(t, s, read(3, oneBlock))
	expect.That(t, cached() == got && got.committed, "a new revision does not take the place of the old one")
}

// BenchmarkKnow reads a form of 30 questions.
func BenchmarkKnow(b *testing.B) {
	const question = `{"id":"q","type":"single_choice","label":"Question","choices":[{"id":"a","label":"Never"},{"id":"b","label":"Often"}],"properties":{"otherOption":true}},`
	f := read(1, "["+strings.TrimSuffix(strings.Repeat(question, 30), ",")+"]")
	for _, known := range []bool{false, true} {
		b.Run("known="+strconv.FormatBool(known), func(b *testing.B) {
			b.ReportAllocs()
			s := knowing()
			for b.Loop() {
				if !known {
					s = knowing()
				}
				if _, err := s.compileCached(f); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
