package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/internal/formdiff"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

// Difference describes the differences between two versions of a form's content.
type Difference struct {
	// Blocks lists the top-level blocks that differ: first the blocks of the later content, then removed blocks, each
	// in form order.
	Blocks []BlockDifference
	// Fields lists the sorted paths of all other differences: /name, /type, /hidden_fields, and the fields of settings,
	// theme and variables, such as /settings/closed.
	Fields []string
}

// BlockDifference describes how one top-level block changed.
type BlockDifference struct {
	ID             string
	Before, After  json.RawMessage // nil if the block did not exist
	Added, Removed bool
	// Moved reports whether the block has another position among the blocks that both contents have. If one block was
	// moved, only that block is reported, not the blocks that it passed.
	Moved bool
	// Changed lists the sorted JSON Pointers of the fields that differ in the block, with separate paths for its
	// properties, such as /properties/max.
	Changed []string
}

// Diff returns the differences between two stored contents of a form. It compares values as JSON: it ignores
// whitespace, the order of fields and the notation of numbers, and treats null like a missing field. Numbers are
// compared as float64. A nil section is empty. Diff returns an error if a section is not JSON or a block has no unique
// ID.
func Diff(before, after storage.FormContent) (Difference, error) {
	var d Difference
	earlier, err := formdiff.SplitContent(before)
	if err != nil {
		return d, fmt.Errorf("schema: %w", err)
	}
	later, err := formdiff.SplitContent(after)
	if err != nil {
		return d, fmt.Errorf("schema: %w", err)
	}
	list := formdiff.SectionPath("blocks")
	changed := map[string][]string{} // by block path
	for _, part := range formdiff.Compare(earlier, later) {
		isBlock := strings.HasPrefix(part.Path, list+"/")
		found, err := changedFields(part, isBlock)
		if err != nil {
			return d, err
		}
		if isBlock {
			changed[part.Path] = found
		} else {
			d.Fields = append(d.Fields, found...)
		}
	}
	slices.Sort(d.Fields)
	earlierIndex := map[string]int{} // positions in the earlier content
	for i, id := range earlier.Order[list] {
		earlierIndex[id] = i
	}
	var common []int // positions in the earlier content, in the order of the later content
	for _, id := range later.Order[list] {
		if i, ok := earlierIndex[id]; ok {
			common = append(common, i)
		}
	}
	unmoved := longestIncreasing(common)
	for _, id := range later.Order[list] {
		path := jsontree.JoinPointer(list, id)
		b := BlockDifference{ID: id, Before: earlier.Raw[path], After: later.Raw[path], Added: earlier.Raw[path] == nil}
		if !b.Added {
			b.Moved, b.Changed = !unmoved[earlierIndex[id]], changed[path]
		}
		if b.Added || b.Moved || b.Changed != nil {
			d.Blocks = append(d.Blocks, b)
		}
	}
	for _, id := range earlier.Order[list] {
		if path := jsontree.JoinPointer(list, id); later.Raw[path] == nil {
			d.Blocks = append(d.Blocks, BlockDifference{ID: id, Before: earlier.Raw[path], Removed: true})
		}
	}
	return d, nil
}

// changedFields returns the sorted paths of the fields that differ in a changed part. For a block, the paths are
// relative to the block.
func changedFields(part formdiff.Change, isBlock bool) ([]string, error) {
	from, err := decodeJSON(part.Path, part.Before)
	if err != nil {
		return nil, err
	}
	to, err := decodeJSON(part.Path, part.After)
	if err != nil {
		return nil, err
	}
	path := strings.TrimPrefix(part.Path, "/definition")
	switch {
	case isBlock:
		return differentPaths("", from, to, 2), nil
	case path == "/theme", path == "/variables":
		return differentPaths(path, from, to, 1), nil
	default:
		return differentPaths(path, from, to, 0), nil
	}
}

func decodeJSON(path string, raw json.RawMessage) (value any, err error) {
	if raw == nil {
		return nil, nil
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("schema: decode stored %s: %w", path, err)
	}
	return value, nil
}

// differentPaths returns the sorted paths of the differences between two values. The parameter depth limits how many
// levels of nested objects it compares. A missing object is treated as empty.
func differentPaths(path string, from, to any, depth int) (found []string) {
	fromObject, wasObject := from.(map[string]any)
	toObject, isObject := to.(map[string]any)
	if depth == 0 || from != nil && !wasObject || to != nil && !isObject {
		if !reflect.DeepEqual(from, to) {
			found = []string{path}
		}
		return found
	}
	names := map[string]any{}
	maps.Copy(names, fromObject)
	maps.Copy(names, toObject)
	for name := range names {
		found = append(found, differentPaths(jsontree.JoinPointer(path, name), fromObject[name], toObject[name], depth-1)...)
	}
	slices.Sort(found)
	return found
}

// longestIncreasing returns the numbers in a longest increasing subsequence. Diff uses it to find blocks that were not
// moved.
func longestIncreasing(numbers []int) map[int]bool {
	ends := []int{}                     // for each length minus 1, the index of the smallest last number
	before := make([]int, len(numbers)) // the index of the previous number in the subsequence, or -1
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
