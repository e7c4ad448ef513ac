package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// FormText is what people write of a form, as it is stored: its name and the sections of its
// definition. A nil section is empty.
type FormText struct {
	Name                                             string
	Blocks, Settings, Theme, Variables, HiddenFields json.RawMessage
}

// Difference says what became of one form text in another one.
type Difference struct {
	// Blocks are the top-level blocks that differ: those of the later text in their order,
	// then those that were removed, in theirs.
	Blocks []BlockDifference
	// Members are all other differences, sorted: /name, the members of settings, theme and
	// variables as in /settings/closed, and /hidden_fields.
	Members []string
}

// BlockDifference says what became of one top-level block.
type BlockDifference struct {
	ID             string
	Before, After  json.RawMessage // nil: it was not there
	Added, Removed bool
	// Moved says that the block stands elsewhere among those that are in both texts. When
	// one block was moved, that one is, not those that it passed.
	Moved bool
	// Changed are the members that differ, sorted, as JSON Pointers into the block; the
	// members of its properties are named one by one, as in /properties/max.
	Changed []string
}

// Diff returns what is different in the later of two texts of a form. Values are compared as JSON:
// white space, the order of members and the way that a number is written make no difference;
// numbers are compared as float64. It is an error when a section is not JSON, or a block has no id
// of its own.
func Diff(before, after FormText) (Difference, error) {
	var d Difference
	if before.Name != after.Name {
		d.Members = append(d.Members, "/name")
	}
	for _, s := range []struct {
		path          string
		before, after json.RawMessage
	}{
		{"/settings", before.Settings, after.Settings}, {"/theme", before.Theme, after.Theme},
		{"/variables", before.Variables, after.Variables}, {"/hidden_fields", before.HiddenFields, after.HiddenFields},
	} {
		from, err := decoded(s.before)
		if err != nil {
			return d, fmt.Errorf("%s: %w", s.path, err)
		}
		to, err := decoded(s.after)
		if err != nil {
			return d, fmt.Errorf("%s: %w", s.path, err)
		}
		d.Members = append(d.Members, differing(s.path, from, to)...)
	}
	slices.Sort(d.Members)

	old, err := blocksByID(before.Blocks)
	if err != nil {
		return d, err
	}
	now, err := blocksByID(after.Blocks)
	if err != nil {
		return d, err
	}
	var common []int // positions in the earlier text, in the order of the later one
	for _, id := range now.ids {
		if was, ok := old.at[id]; ok {
			common = append(common, was)
		}
	}
	stayed := ascending(common)
	for i, id := range now.ids {
		b := BlockDifference{ID: id, After: now.raw[i], Added: true}
		if was, ok := old.at[id]; ok {
			b.Before, b.Added, b.Moved = old.raw[was], false, !stayed[was]
			b.Changed = blockMembers(old.values[was], now.values[i])
		}
		if b.Added || b.Moved || b.Changed != nil {
			d.Blocks = append(d.Blocks, b)
		}
	}
	for i, id := range old.ids {
		if _, ok := now.at[id]; !ok {
			d.Blocks = append(d.Blocks, BlockDifference{ID: id, Before: old.raw[i], Removed: true})
		}
	}
	return d, nil
}

// blockMembers are the members of a block that differ.
func blockMembers(from, to map[string]any) []string {
	var found []string
	for _, path := range differing("", from, to) {
		if path == "/properties" {
			found = append(found, differing(path, from["properties"], to["properties"])...)
		} else {
			found = append(found, path)
		}
	}
	slices.Sort(found)
	return found
}

// differing are the paths of the members that differ in two objects, or the path when two values
// of another kind do. An object that is not there is empty.
func differing(path string, from, to any) []string {
	old, wasObject := from.(map[string]any)
	now, isObject := to.(map[string]any)
	if (wasObject || from == nil) && (isObject || to == nil) {
		var found []string
		names := maps.Clone(old)
		if names == nil {
			names = map[string]any{}
		}
		maps.Copy(names, now)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			was, there := old[name]
			is, here := now[name]
			if there != here || !reflect.DeepEqual(was, is) {
				found = append(found, path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
			}
		}
		return found
	}
	if reflect.DeepEqual(from, to) {
		return nil
	}
	return []string{path}
}

func decoded(raw json.RawMessage) (v any, err error) {
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &v)
	}
	if list, ok := v.([]any); ok && len(list) == 0 {
		v = nil
	}
	return v, err
}

type blockIndex struct {
	ids    []string
	at     map[string]int
	raw    []json.RawMessage
	values []map[string]any
}

func blocksByID(raw json.RawMessage) (x blockIndex, err error) {
	x.at = map[string]int{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return x, nil
	}
	if err := json.Unmarshal(raw, &x.raw); err != nil {
		return x, fmt.Errorf("/blocks: %w", err)
	}
	for i, block := range x.raw {
		var v map[string]any
		if err := json.Unmarshal(block, &v); err != nil {
			return x, fmt.Errorf("/blocks/%d: %w", i, err)
		}
		id, _ := v["id"].(string)
		if _, twice := x.at[id]; twice || id == "" {
			return x, fmt.Errorf("/blocks/%d: no id of its own", i)
		}
		x.ids, x.values, x.at[id] = append(x.ids, id), append(x.values, v), i
	}
	return x, nil
}

// ascending returns the members of a longest ascending run among some numbers, which need not be
// neighbours in it: the blocks that were not moved.
func ascending(numbers []int) map[int]bool {
	ends := []int{}                     // by length: where the run with the smallest end ends
	before := make([]int, len(numbers)) // what stands before it in that run
	for i, n := range numbers {
		length, _ := slices.BinarySearchFunc(ends, n, func(end, n int) int { return numbers[end] - n })
		if before[i] = -1; length > 0 {
			before[i] = ends[length-1]
		}
		if length == len(ends) {
			ends = append(ends, i)
		} else {
			ends[length] = i
		}
	}
	run := map[int]bool{}
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			run[numbers[i]] = true
		}
	}
	return run
}
