package schema

import "encoding/json"

// FormWrite is a checked FormCreate or FormUpdate. What is nil was not given.
// Defaults are not filled in.
type FormWrite struct {
	Name        *string // without the white space around it
	Type        *string // only on create
	Status      *string // only on update
	WorkspaceID *string // 24 hex digits, as sent

	Blocks *Blocks
	// The sections as they were sent, but for times, which are in UTC and whole
	// seconds.
	Settings, Theme, Variables, HiddenFields json.RawMessage
	// Gate is set exactly when Settings is.
	Gate *Gate
}

// FormCreate checks the body of createForm.
func (w *Writes) FormCreate(body []byte) (FormWrite, error) {
	return w.form(body, w.formCreate)
}

// FormUpdate checks the body of updateForm. One without a member is an *[Error].
func (w *Writes) FormUpdate(body []byte) (FormWrite, error) {
	return w.form(body, w.formUpdate)
}

func (w *Writes) form(body []byte, s *shape) (FormWrite, error) {
	r, err := read(body)
	if err != nil {
		return FormWrite{}, err
	}
	r.trimName()
	definition := r.root.member("definition")
	if definition != nil {
		at := r.place.member("definition")
		r.definition(definition, w.limits, &at)
	}
	r.walk(r.root, s, &r.place)
	if err := r.found.err(); err != nil {
		return FormWrite{}, err
	}

	f := FormWrite{
		Name:        r.text("name"),
		Type:        r.text("type"),
		Status:      r.text("status"),
		WorkspaceID: r.text("workspace_id"),
	}
	if definition == nil {
		return f, nil
	}
	f.Settings = r.section(definition.member("settings"))
	f.Theme = r.section(definition.member("theme"))
	f.Variables = r.section(definition.member("variables"))
	f.HiddenFields = r.section(definition.member("hidden_fields"))
	if settings := definition.member("settings"); settings != nil {
		gate := gateOf(settings)
		f.Gate = &gate
	}
	if blocks := definition.member("blocks"); blocks != nil {
		f.Blocks = newBlocks(r.raw, blocks, r.edits)
	}
	return f, nil
}

// definition applies the rules to the sections that are given.
func (r *request) definition(definition *node, l Limits, at *place) {
	blocks := newBlockRules(&r.check, l)
	if n := definition.member("blocks"); n != nil {
		here := at.member("blocks")
		blocks.top(n, &here)
	}
	if n := definition.member("settings"); n != nil {
		here := at.member("settings")
		r.settings(n, &here)
	}
	if n := definition.member("theme"); n != nil {
		here := at.member("theme")
		r.theme(n, l, &here)
	}
	if n := definition.member("hidden_fields"); n != nil {
		here := at.member("hidden_fields")
		r.hiddenFields(n, blocks.ids, &here)
	}
}

// section returns the bytes of a section with its times normalised, nil when it
// is not given.
func (r *request) section(n *node) json.RawMessage {
	if n == nil {
		return nil
	}
	return splice(r.raw, n.start, n.end, r.edits)
}
