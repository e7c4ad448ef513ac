package definition

import (
	"encoding/json"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/validation"
	"github.com/formsvc/formsvc/internal/violation"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// FormWrite is a checked FormCreate or FormUpdate. A field is nil if the body omits it. Defaults are not set.
type FormWrite struct {
	Name        *string // without surrounding whitespace
	Type        *string
	Status      *string // only for an update
	WorkspaceID *string // 24 hexadecimal digits, as sent

	Blocks     *Blocks
	Sections   storage.Definition       // the other sections with normalized times
	Acceptance *storage.AcceptanceRules // set if and only if Settings is set
}

// ParseFormCreate checks a createForm body.
func (w *Validator) ParseFormCreate(body []byte) (FormWrite, error) {
	return w.parseForm(body, formCreateSchema)
}

// ParseFormUpdate checks an updateForm body. It rejects an empty object.
func (w *Validator) ParseFormUpdate(body []byte) (FormWrite, error) {
	return w.parseForm(body, formUpdateSchema)
}

// ParseFormContent checks the name, the type and the definition of a form that has no workspace yet.
func (w *Validator) ParseFormContent(data []byte) (FormWrite, error) {
	return w.parseForm(data, formUpdateSchema, func(r *request) {
		if r.root.Kind() == jsontree.Object && !r.root.Member("name").Exists() {
			r.AddMember(r.root, "name", schema.CodeRequired, "is required")
		}
		for _, name := range []string{"status", "workspace_id"} {
			if n := r.root.Member(name); n.Exists() {
				r.Add(n, schema.CodeUnknownField, "is not a known field")
			}
		}
	})
}

// CheckSizes checks a FormUpdate that will not be stored, such as an editor's unsaved content. It reports only
// exceeded limits, because content can be invalid while a user types. It also rejects unknown fields, because decoders
// could confuse an unknown field with a known field.
func (w *Validator) CheckSizes(body []byte) error {
	r, err := parseBody(body)
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

// parseForm checks a body against the schema s, the rules for all forms, and more rules.
func (w *Validator) parseForm(body []byte, s *validation.Schema, more ...func(*request)) (FormWrite, error) {
	r, err := readAndCheck(body, s, func(r *request) {
		for _, check := range more {
			check(r)
		}
		r.cleanAndCheckName()
		r.checkDefinition(r.root.Member("definition"), w)
	})
	if err != nil {
		return FormWrite{}, err
	}
	definition := r.root.Member("definition")
	f := FormWrite{
		Name:        r.textMember("name"),
		Type:        r.textMember("type"),
		Status:      r.textMember("status"),
		WorkspaceID: r.textMember("workspace_id"),
		Sections: storage.Definition{
			Settings:     r.editedSection(definition.Member("settings")),
			Theme:        r.editedSection(definition.Member("theme")),
			Variables:    r.editedSection(definition.Member("variables")),
			HiddenFields: r.editedSection(definition.Member("hidden_fields")),
			Format:       Format,
		},
	}
	if f.Sections.Settings != nil {
		f.Acceptance = readAcceptanceRules(definition.Member("settings"))
	}
	if blocks := definition.Member("blocks"); blocks.Exists() {
		f.Blocks = &Blocks{list: blocks, edits: r.Edits} // Blocks keeps the tree in memory
	} else {
		r.tree.Release()
	}
	return f, nil
}

func (r *request) checkDefinition(definition jsontree.Node, w *Validator) {
	blocks := newBlockChecker(&r.Check, w)
	blocks.checkTop(definition.Member("blocks"))
	r.checkSettings(definition.Member("settings"), w.limits)
	r.checkTheme(definition.Member("theme"), w.limits)
	checkHiddenFields(&r.Check, definition.Member("hidden_fields"), blocks.ids, namesOf(blocks.setHere))
}

// editedSection returns the bytes of a section with its edits applied, or nil if it is omitted.
func (r *request) editedSection(n jsontree.Node) json.RawMessage {
	if !n.Exists() {
		return nil
	}
	return jsontree.ApplyEdits(n.Source(), n.Start(), n.End(), r.Edits)
}

// readAcceptanceRules extracts the acceptance rules from checked settings. A response limit below one means no limit.
// The caller sets the version of the comparison rules.
func readAcceptanceRules(settings jsontree.Node) *storage.AcceptanceRules {
	g := new(storage.AcceptanceRules)
	g.Closed = settings.Member("closed").Bool()
	g.OpenAt, _ = jsontree.ParseTime(settings.Member("openAt").Text())
	g.CloseAt, _ = jsontree.ParseTime(settings.Member("closeAt").Text())
	g.ResponseLimit = max(int64(settings.Member("responseLimit").Float()), 0)
	g.Unique.Block = settings.Member("duplicateField").Text()
	return g
}
