package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

// Difference says what became of the content of a form in a later one.
type Difference struct {
	// Blocks are the top-level blocks that differ: those of the later content in their order,
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
	// Moved says that the block stands elsewhere among those that are in both contents. When
	// one block was moved, that one is, not those that it passed.
	Moved bool
	// Changed are the members that differ, sorted, as JSON Pointers into the block; the
	// members of its properties are named one by one, as in /properties/max.
	Changed []string
}

// Diff returns what is different in the later of two stored contents of a form. Values are compared
// as JSON: white space, the order of members and the way that a number is written make no
// difference, and null is as what is not there; numbers are compared as float64. A nil section is
// empty. It is an error when a section is not JSON, or a block has no id of its own.
func Diff(before, after storage.FormContent) (Difference, error) {
	var d Difference
	old, err := decode(before)
	if err != nil {
		return d, err
	}
	now, err := decode(after)
	if err != nil {
		return d, err
	}
	d.Members = differing("", old.members, now.members, 2)
	var common []int // positions in the earlier content, in the order of the later one
	for _, b := range now.blocks {
		if was, ok := old.at[b.id]; ok {
			common = append(common, was)
		}
	}
	stayed := ascending(common)
	for _, b := range now.blocks {
		diff := BlockDifference{ID: b.id, After: b.raw, Added: true}
		if at, ok := old.at[b.id]; ok {
			was := old.blocks[at]
			diff.Before, diff.Added, diff.Moved = was.raw, false, !stayed[at]
			diff.Changed = differing("", was.members, b.members, 2)
		}
		if diff.Added || diff.Moved || diff.Changed != nil {
			d.Blocks = append(d.Blocks, diff)
		}
	}
	for _, b := range old.blocks {
		if _, ok := now.at[b.id]; !ok {
			d.Blocks = append(d.Blocks, BlockDifference{ID: b.id, Before: b.raw, Removed: true})
		}
	}
	return d, nil
}

// differing are the sorted paths of what differs in two values, down to a depth in objects. An
// object that is not there is empty.
func differing(path string, from, to any, depth int) (found []string) {
	old, wasObject := from.(map[string]any)
	now, isObject := to.(map[string]any)
	if depth == 0 || from != nil && !wasObject || to != nil && !isObject {
		if !reflect.DeepEqual(from, to) {
			found = []string{path}
		}
		return found
	}
	names := map[string]any{}
	maps.Copy(names, old)
	maps.Copy(names, now)
	for name := range names {
		found = append(found, differing(jsontree.Pointer(path, name), old[name], now[name], depth-1)...)
	}
	slices.Sort(found)
	return found
}

type decodedContent struct {
	members map[string]any // all but the blocks
	blocks  []decodedBlock
	at      map[string]int // where the blocks are, by id
}

type decodedBlock struct {
	id      string
	raw     json.RawMessage
	members map[string]any
}

// decode reads the content of a form. What is empty is as what is not there.
func decode(f storage.FormContent) (t decodedContent, err error) {
	t.members, t.at = map[string]any{"name": f.Name}, map[string]int{}
	sections := f.Sections()
	for _, section := range sections[1:] {
		value, err := decodeSection[any](*section.Value, section.Name)
		if err != nil {
			return t, err
		}
		if list, ok := value.([]any); !ok || len(list) > 0 {
			t.members[section.Name] = value
		}
	}
	list, err := decodeSection[[]json.RawMessage](f.Blocks, "blocks")
	for i, raw := range list {
		b := decodedBlock{raw: raw}
		if err := json.Unmarshal(raw, &b.members); err != nil {
			return t, fmt.Errorf("schema: decode stored block %d: %w", i, err)
		}
		b.id, _ = b.members["id"].(string)
		if _, twice := t.at[b.id]; twice || b.id == "" {
			return t, fmt.Errorf("schema: stored block %d has no id of its own", i)
		}
		t.blocks, t.at[b.id] = append(t.blocks, b), i
	}
	return t, err
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
