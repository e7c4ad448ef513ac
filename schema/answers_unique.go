package schema

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
)

// identified is a rule whose stored answers show more than what was answered: the
// labels of choices, and the order in which the form has them.
type identified interface {
	// identity returns what stays the same as long as the answer does. n is what
	// the rule stored.
	identity(n *node) []byte
}

// uniqueDigest is Answers.Unique for a value that b's rule wrote.
func uniqueDigest(b *compiledBlock, value []byte) []byte {
	if rule, ok := b.rule.(identified); ok {
		if n, err := parseStored(value); err == nil { // as it does for what a rule writes
			value = rule.identity(n)
		}
	}
	h := sha256.New()
	h.Write([]byte(b.id))
	h.Write([]byte{0}) // no id contains it
	h.Write(value)
	return h.Sum(nil)
}

func (t choiceRule) identity(n *node) []byte { return choiceIdentity(n) }

func (t multipleRule) identity(n *node) []byte { return setIdentity(n) }

func (t rankingRule) identity(n *node) []byte {
	return arrayOf(choiceIdentities(n)) // the order is the answer
}

func (t matrixRule) identity(n *node) []byte {
	ofRow := choiceIdentity
	if t.multiple {
		ofRow = setIdentity
	}
	rows := make([]int, len(n.items))
	for i := range rows {
		rows[i] = i
	}
	slices.SortFunc(rows, func(a, b int) int { return strings.Compare(n.names[a], n.names[b]) })
	object := []byte{'{'}
	for _, i := range rows {
		object = append(appendQuoted(separate(object), n.names[i]), ':')
		object = append(object, ofRow(&n.items[i])...)
	}
	return append(object, '}')
}

// choiceIdentity is the id of a choice as a string, or the respondent's own text
// in an object.
func choiceIdentity(n *node) []byte {
	if id := n.member("id"); id != nil {
		return appendQuoted(nil, id.text)
	}
	return append(appendQuoted([]byte(`{"other":`), n.member("other").text), '}')
}

// setIdentity is an array of choices in an order that is not the form's.
func setIdentity(n *node) []byte {
	chosen := choiceIdentities(n)
	slices.SortFunc(chosen, bytes.Compare)
	return arrayOf(chosen)
}

func choiceIdentities(n *node) [][]byte {
	list := make([][]byte, len(n.items))
	for i := range n.items {
		list[i] = choiceIdentity(&n.items[i])
	}
	return list
}

func arrayOf(items [][]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(items, []byte{','}), []byte{']'})
}
