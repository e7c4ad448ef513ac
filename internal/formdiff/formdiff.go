// Package formdiff compares form content, such as a working copy and its form, or two versions.
package formdiff

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/storage"
)

// Parts holds the parts of a form's content that two users can change without a conflict: the name, the type, each
// setting, each top-level block, and each of the other sections. Their paths are JSON Pointers into a FormUpdate,
// with block IDs instead of positions.
type Parts struct {
	Raw   map[string]json.RawMessage
	Order map[string][]string // names of the settings and IDs of the blocks, by section path
}

// SectionPath returns the path of a section.
func SectionPath(section string) string { return "/definition/" + section }

// SplitContent returns the parts of a form's content. A nil section counts as empty. SplitContent returns an error if
// settings or blocks are invalid JSON, or if block IDs are missing or duplicated.
func SplitContent(c storage.FormContent) (Parts, error) {
	p := Parts{map[string]json.RawMessage{
		"/name": jsontree.AppendString(nil, c.Name),
		"/type": jsontree.AppendString(nil, c.Type),
	}, map[string][]string{}}
	for _, section := range c.Sections() {
		path, value := SectionPath(section.Name), *section.Value
		if len(value) == 0 {
			value = json.RawMessage(section.Empty)
		}
		if section.Name != "settings" && section.Name != "blocks" {
			p.Raw[path] = value
			continue
		}
		tree, err := jsontree.Parse(value, jsontree.Limits{})
		if err != nil {
			return p, fmt.Errorf("parse stored %s: %w", section.Name, err)
		}
		if section.Name == "blocks" && tree.Root().Kind() == jsontree.Object {
			return p, errors.New("the stored blocks are not an array")
		}
		p.Order[path] = []string{}
		for i, n := range tree.Root().All() {
			name := n.Name()
			if section.Name == "blocks" {
				name = n.Member("id").Text()
			}
			part := jsontree.JoinPointer(path, name)
			if p.Raw[part] != nil || name == "" && section.Name == "blocks" {
				return p, fmt.Errorf("stored block %d has no unique ID", i)
			}
			p.Raw[part], p.Order[path] = json.RawMessage(n.Raw()), append(p.Order[path], name)
		}
	}
	return p, nil
}

// Change is a part that differs between two versions of the content. A missing value is nil.
type Change struct {
	Path          string
	Before, After json.RawMessage
}

// Compare returns the parts whose bytes differ, sorted by path.
func Compare(before, after Parts) (found []Change) {
	all := maps.Clone(before.Raw)
	maps.Copy(all, after.Raw)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		if d := (Change{path, before.Raw[path], after.Raw[path]}); !bytes.Equal(d.Before, d.After) {
			found = append(found, d)
		}
	}
	return found
}

// JoinSection returns a section that consists of the named parts.
func (p Parts) JoinSection(s storage.Section, names []string) json.RawMessage {
	members := make([][]byte, len(names))
	for i, name := range names {
		if s.Name == "settings" {
			members[i] = append(jsontree.AppendString(nil, name), ':')
		}
		members[i] = append(members[i], p.Raw[jsontree.JoinPointer(SectionPath(s.Name), name)]...)
	}
	return slices.Concat([]byte(s.Empty[:1]), bytes.Join(members, []byte(",")), []byte(s.Empty[1:]))
}

// Digests identifies the values of all parts, so that callers can later detect which parts have changed.
type Digests map[string]string

// Digests returns the digests of the parts.
func (p Parts) Digests() Digests {
	found := make(Digests, len(p.Raw))
	for path, raw := range p.Raw {
		found[digest([]byte(path))] = digest(raw) // hashes the path, because block IDs may be long
	}
	return found
}

// Matches reports whether a part has the same value as when the digests were computed.
func (d Digests) Matches(path string, raw json.RawMessage) bool {
	return d[digest([]byte(path))] == digest(raw)
}

func digest(raw []byte) string {
	if raw == nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return base64.RawStdEncoding.EncodeToString(sum[:12])
}
