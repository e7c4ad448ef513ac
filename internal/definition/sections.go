package definition

import (
	"encoding/json"

	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Format is the version of the encoding of stored definitions. It rises when a release
// stores a section in another way; readers then know the way of a stored section. Rules
// are not part of it: only writes are validated, so that a rule that becomes stricter
// breaks no read.
const Format = 1

// NewDefinition returns the definition of a new form: the sections of a FormCreate, and
// empty sections for missing ones. It is a *[schema.Error] when they are larger than
// Limits.Definition.
func (w *Validator) NewDefinition(f FormWrite) (storage.Definition, error) {
	d := f.Sections
	if f.Blocks != nil {
		d.Blocks = f.Blocks.WithTypesFrom(nil).Raw()
	}
	for _, section := range d.Sections() {
		if *section.Value == nil {
			*section.Value = json.RawMessage(section.Empty)
		}
	}
	return d, w.CheckSize(storage.Definition{}, d, "/definition")
}

// ChangeDefinition returns the sections that a FormUpdate changes in a stored
// definition; the others are nil. The checks of a write need the stored form: a block
// without a type keeps its type, hidden fields and blocks must not share a name, and
// the size of all sections together has a bound.
func (w *Validator) ChangeDefinition(f FormWrite, stored storage.Definition) (storage.Definition, error) {
	d := f.Sections
	if f.Blocks != nil || d.HiddenFields != nil {
		blocks, err := StoredBlocks(stored.Blocks)
		if err != nil {
			return d, err
		}
		if f.Blocks != nil {
			if blocks, err = w.TypedFrom(f.Blocks, blocks); err != nil {
				return d, err
			}
			d.Blocks = blocks.Raw()
		}
		if d.HiddenFields != nil {
			err = blocks.CheckHiddenFields(d.HiddenFields, "/definition/hidden_fields")
		} else {
			err = blocks.CheckHiddenNames(stored.HiddenFields)
		}
		if err != nil {
			return d, err
		}
	}
	return d, w.CheckSize(stored, d, "/definition")
}

// HasSections reports whether a section of the definition was given.
func (f FormWrite) HasSections() bool {
	return f.Blocks != nil || f.Sections.HasSections()
}

// CheckSize holds a definition after a change against Limits.Definition. Sections that
// are nil in the change stay. A definition that was too large before, under another
// limit, may be changed as long as it does not grow. The *[schema.Error] has the path
// of the section as it was sent.
func (w *Validator) CheckSize(stored, change storage.Definition, path string) error {
	before := stored.Size()
	stored.Apply(change)
	after := stored.Size()
	if after <= w.limits.Definition || after <= before {
		return nil
	}
	return violation.New(path, schema.CodeTooLong, "the definition of the form exceeds "+violation.Count(w.limits.Definition, "byte"))
}
