package definition

import (
	"encoding/json"

	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Format is the encoding version of stored definitions. Increase it if the encoding of a section changes, so that
// readers can recognize the encoding. Stricter rules do not require a new version, because only writes are validated.
const Format = 1

// NewDefinition returns the definition for a new form. Missing sections become empty. It returns a *[schema.Error] if
// the sections exceed Limits.Definition.
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

// ChangeDefinition returns the sections that a FormUpdate changes. Unchanged sections are nil. It checks the rules
// that depend on the stored form, such as hidden field names and the total size.
func (w *Validator) ChangeDefinition(f FormWrite, stored storage.Definition) (storage.Definition, error) {
	d := f.Sections
	if f.Blocks != nil || d.HiddenFields != nil {
		blocks, err := ParseStoredBlocks(stored.Blocks)
		if err != nil {
			return d, err
		}
		if f.Blocks != nil {
			if blocks, err = w.InferTypes(f.Blocks, blocks); err != nil {
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

// HasSections reports whether f contains any section of the definition.
func (f FormWrite) HasSections() bool {
	return f.Blocks != nil || f.Sections.HasSections()
}

// CheckSize checks a changed definition against Limits.Definition. Sections that are nil in change do not change. A
// definition that already exceeds the limit cannot grow. The violation in the *[schema.Error] has the given path.
func (w *Validator) CheckSize(stored, change storage.Definition, path string) error {
	before := stored.Size()
	stored.Apply(change)
	after := stored.Size()
	if after <= w.limits.Definition || after <= before {
		return nil
	}
	return violation.New(path, schema.CodeTooLong, "the definition of the form exceeds "+violation.FormatCount(w.limits.Definition, "byte"))
}
