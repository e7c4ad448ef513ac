package builder

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
)

// Offer limits what users can add to forms in the builder. The zero value offers everything. For each list, nil means
// all, and an empty list means none. A form can already contain other things, for example from the API. The builder
// shows these read-only and keeps them. It rejects a change that adds something else, or that removes a part of a theme
// that users cannot change, with a 422 that lists all violations. Publishing a working copy is not limited, and neither is the API.
type Offer struct {
	// BlockTypes are types from package schema, such as schema.TypeShortText.
	BlockTypes []string `json:"block_types"`
	// Settings are the names of fields of [schema.Settings] in JSON, such as "redirectUrl" or "cover".
	Settings []string `json:"settings"`
	// Templates are "contact", "feedback", "event", and "json" for pasted JSON. The builder omits templates with block
	// types that are not offered.
	Templates []string `json:"templates"`
	// NoTheme means that users cannot change the theme, including the custom CSS. New forms still get Config.Theme.
	NoTheme bool `json:"no_theme"`
	// NoCustomCSS means that users cannot change the theme's custom CSS.
	NoCustomCSS bool `json:"no_custom_css"`
}

// check returns an error that contains all names that do not exist.
func (o Offer) check() error {
	known := []string{"contact", "feedback", "event", "json"}
	for b := range schema.BlockTypes() {
		known = append(known, b.Type)
	}
	for f := range reflect.TypeFor[schema.Settings]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known = append(known, name)
	}
	var errs []error
	for _, name := range slices.Concat(o.BlockTypes, o.Settings, o.Templates) {
		if !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("Config.Offer: unknown name %q", name))
		}
	}
	return errors.Join(errs...)
}

func offered(list []string, name string) bool { return list == nil || slices.Contains(list, name) }

// checkOffer returns an error that lists everything that a change adds to a form although the builder does not offer it.
func (h *Handler) checkOffer(before, after formsvc.FormContent) error {
	o := h.config.Offer
	theme := changedFields(after.Theme, before.Theme) // includes removed fields
	if before.Blocks == nil {                         // a new form
		before.Theme = h.config.Theme
	}
	theme = append(theme, changedFields(before.Theme, after.Theme)...)
	slices.Sort(theme)
	var violations []schema.Violation
	refuse := func(path string) {
		violations = append(violations, schema.Violation{Path: "/definition/" + path, Code: schema.CodeNotAllowed, Message: "is not offered here"})
	}
	existing, err := schema.DecodeBlocks(before.Blocks)
	if err != nil {
		return err
	}
	blocks, err := schema.DecodeBlocks(after.Blocks)
	if err != nil {
		return err
	}
	types := map[string]string{}
	eachBlock("", existing, func(_ string, b *schema.Block) { types[b.ID] = b.Type })
	eachBlock("blocks", blocks, func(path string, b *schema.Block) {
		if types[b.ID] != b.Type && !offered(o.BlockTypes, b.Type) {
			refuse(path + "/type")
		}
	})
	for _, name := range changedFields(before.Settings, after.Settings) {
		if !offered(o.Settings, name) {
			refuse("settings/" + name)
		}
	}
	for _, name := range slices.Compact(theme) {
		if o.NoTheme || o.NoCustomCSS && name == "customCss" {
			refuse("theme/" + name)
		}
	}
	if violations != nil {
		return &formsvc.Error{Violations: violations}
	}
	return nil
}

// eachBlock calls do for each block, including blocks in groups, with its path.
func eachBlock(path string, blocks []schema.Block, do func(path string, b *schema.Block)) {
	for i := range blocks {
		at := path + "/" + strconv.Itoa(i)
		do(at, &blocks[i])
		eachBlock(at+"/children", blocks[i].Children, do)
	}
}

// changedFields returns the names of the fields of an object that were added or changed, in alphabetical order.
func changedFields(before, after json.RawMessage) (names []string) {
	var was, is map[string]any
	_, _ = json.Unmarshal(before, &was), json.Unmarshal(after, &is) // stored sections are valid, and can be empty
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if !reflect.DeepEqual(was[name], is[name]) {
			names = append(names, name)
		}
	}
	return names
}
