package schema

// matrixRule checks matrix.
type matrixRule struct {
	rows, columns *choices
	multiple      bool
	required      bool
}

func (t matrixRule) check(dst []byte, n *node, r *report) []byte {
	if n.kind != kindObject {
		r.add(CodeWrongType, "must be an object of choices by row")
		return dst
	}
	answers := make([]*node, len(t.rows.ids))
	answered := 0
	for i, name := range n.names {
		row, ok := t.rows.index[name]
		switch {
		case r.full():
			return dst
		case !ok:
			r.addIn(name, CodeNotAChoice, "must be one of the block's rows")
		case !isBlank(&n.items[i]):
			answers[row] = &n.items[i]
			answered++
		}
	}
	if answered == 0 {
		return dst
	}
	whole := r.path
	dst = append(dst, '{')
	for row, id := range t.rows.ids {
		if answers[row] == nil {
			if t.required {
				r.addIn(id, CodeRequired, messageRequired)
			}
			continue
		}
		dst = append(appendQuoted(separate(dst), id), ':')
		r.path = pointer(whole, id)
		if t.multiple {
			dst, _ = t.columns.set(dst, answers[row], r)
		} else {
			dst = choiceRule{t.columns}.check(dst, answers[row], r)
		}
		r.path = whole
	}
	return append(dst, '}')
}
