package formpage

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// gone answers a page that was sent to a form that is not public any more, a draft or in the
// trash, with what was typed, as a closed form does. It reports whether it did: the page has
// to be one that was made here for a visit. To everybody else there is no form.
func (h *Handler) gone(w http.ResponseWriter, r *http.Request, publicID string) bool {
	c := h.newCall(w, r, PublicForm{Closed: true})
	values, _, err := c.read()
	var v visit
	if err != nil || !h.signer.open(purposeVisit, values.Get(ctrlState), &v) {
		return false
	}
	id, err := storage.ParseID(v.Form)
	if err != nil {
		return false
	}
	c.values, c.form.ID = values, id
	if lang := values.Get(ctrlLanguage); lang != "" && (h.config.Language == nil || h.config.Language(r, c.form) == "") {
		c.words = h.words.byTag(lang, c.words)
	}
	// The form is what respondents saw here last. What it holds by now is not public; where
	// this is not remembered, blocks have their ids for labels.
	if s, ok := h.sources.get(id); ok && s.shown && s.publicID == publicID {
		f, d := &c.form, s.definition
		f.PublicID, f.Name, f.Type, f.Definition = s.publicID, s.name, s.kind, d
		f.Blocks, _ = schema.DecodeBlocks(d.Blocks) // all were read before
		f.Settings, _ = schema.DecodeSettings(d.Settings)
		f.Theme, _ = schema.DecodeTheme(d.Theme)
	}
	c.closed()
	return true
}

// lostFiles are the names of the files that the page brought, or had brought before.
func (c *call) lostFiles() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c.values)) {
		block, ok := strings.CutPrefix(name, nameFile)
		for _, token := range c.values[name] {
			if s, known := c.openFile(block, token); ok && known {
				list = append(list, s.File.Name)
			}
		}
	}
	for _, v := range c.refused {
		if name, ok := v.Params["name"].(string); ok {
			list = append(list, name)
		}
	}
	return list
}
