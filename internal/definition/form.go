package definition

import (
	"encoding/json"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/storage"
)

// FormWrite is a checked FormCreate or FormUpdate. What is nil was not given.
// Defaults are not filled in.
type FormWrite struct {
	Name        *string // without the white space around it
	Type        *string
	Status      *string // only on update
	WorkspaceID *string // 24 hex digits, as sent

	Blocks *Blocks
	// Sections are the others as they were sent, but for times, which are in UTC and whole
	// seconds. Its own Blocks stay nil: their types may have to be filled in first.
	Sections storage.Definition
	// Acceptance is set exactly when Settings is.
	Acceptance *storage.AcceptanceRules
}

// FormCreate checks the body of createForm.
func (w *Validator) FormCreate(body []byte) (FormWrite, error) {
	return w.form(body, formCreateSchema)
}

// FormUpdate checks the body of updateForm. One without a member is a
// *[schema.Error].
func (w *Validator) FormUpdate(body []byte) (FormWrite, error) {
	return w.form(body, formUpdateSchema)
}

// CheckSizes checks a FormUpdate that is not stored, such as the unsaved content of an editor. What somebody
// types may break the rules for a moment, so it reports only what is too large for any write. Members
// with an unknown name count as too large: decoders may take them for members that were not counted.
func (w *Validator) CheckSizes(body []byte) error {
	r, err := read(body)
	if err != nil {
		return err
	}
	defer r.tree.Release()
	r.Violations = violation.List{OnlySizes: true}
	r.checkDefinition(r.root.Member("definition"), w)
	if err := r.Validate(r.root, formUpdateSchema); err != nil {
		return err
	}
	return r.Violations.Err()
}

func (w *Validator) form(body []byte, s *validation.Schema) (FormWrite, error) {
	r, err := readAndCheck(body, s, func(r *request) {
		r.cleanName()
		r.checkDefinition(r.root.Member("definition"), w)
	})
	if err != nil {
		return FormWrite{}, err
	}
	definition := r.root.Member("definition")
	f := FormWrite{
		Name:        r.text("name"),
		Type:        r.text("type"),
		Status:      r.text("status"),
		WorkspaceID: r.text("workspace_id"),
		Sections: storage.Definition{
			Settings:     r.section(definition.Member("settings")),
			Theme:        r.section(definition.Member("theme")),
			Variables:    r.section(definition.Member("variables")),
			HiddenFields: r.section(definition.Member("hidden_fields")),
			Format:       Format,
		},
	}
	if f.Sections.Settings != nil {
		f.Acceptance = acceptanceRules(definition.Member("settings"))
	}
	if blocks := definition.Member("blocks"); blocks.Exists() {
		f.Blocks = &Blocks{list: blocks, edits: r.Edits} // keeps the tree
	} else {
		r.tree.Release()
	}
	return f, nil
}

// definition applies the rules to the sections that are given.
func (r *request) checkDefinition(definition jsontree.Node, w *Validator) {
	blocks := newBlockChecker(&r.Check, w)
	blocks.checkTop(definition.Member("blocks"))
	r.checkSettings(definition.Member("settings"), w.limits)
	r.checkTheme(definition.Member("theme"), w.limits)
	checkHiddenFields(&r.Check, definition.Member("hidden_fields"), blocks.ids, namesOf(blocks.setHere))
}

// section returns the bytes of a section with its edits applied, nil when it is
// not given.
func (r *request) section(n jsontree.Node) json.RawMessage {
	if !n.Exists() {
		return nil
	}
	return jsontree.Splice(n.Source(), n.Start(), n.End(), r.Edits)
}

// acceptanceRules takes the gate out of settings that passed their checks. A limit below one
// means that there is none. By which rules answers are compared is for the caller.
func acceptanceRules(settings jsontree.Node) *storage.AcceptanceRules {
	g := new(storage.AcceptanceRules)
	g.Closed = settings.Member("closed").Bool()
	g.CloseAt, _ = jsontree.ParseTime(settings.Member("closeAt").Text())
	g.ResponseLimit = max(int64(settings.Member("responseLimit").Float()), 0)
	g.Unique.Block = settings.Member("duplicateField").Text()
	return g
}
