package schema

import "strconv"

// boolean reads true or false, or the same word in a string.
func boolean(n *node, r *report) (truth, ok bool) {
	switch {
	case n.kind == kindBool:
		return n.truth, true
	case n.kind == kindString && (n.text == "true" || n.text == "false"):
		return n.text == "true", true
	}
	r.add(CodeWrongType, "must be true or false")
	return false, false
}

// yesNoRule checks yes_no.
type yesNoRule struct{}

func (yesNoRule) check(dst []byte, n *node, r *report) []byte {
	truth, ok := boolean(n, r)
	if !ok {
		return dst
	}
	return strconv.AppendBool(dst, truth)
}

// legalRule checks legal.
type legalRule struct{ mustAccept bool }

func (t legalRule) check(dst []byte, n *node, r *report) []byte {
	truth, ok := boolean(n, r)
	if !ok {
		return dst
	}
	if !truth && t.mustAccept {
		r.add(CodeRequired, "must be accepted")
		return dst
	}
	return strconv.AppendBool(dst, truth)
}
