package schema

import "time"

// Gate is what the settings of a form say about when it takes no more responses.
// It has the fields of storage.Gate, so that one converts to the other.
type Gate struct {
	Closed        bool
	CloseAt       time.Time // zero: never
	ResponseLimit int64     // zero: no limit
}

// IsClosed derives is_closed (specification, "Form"): the form was closed by
// hand, or its closing time has come, or it is full.
func (g Gate) IsClosed(full bool, now time.Time) bool {
	return g.Closed || full || !g.CloseAt.IsZero() && !now.Before(g.CloseAt)
}

// gateOf takes the gate out of settings that passed their checks. A limit below
// one is no limit.
func gateOf(settings *node) Gate {
	var g Gate
	if n := settings.member("closed"); n != nil {
		g.Closed = n.truth
	}
	if n := settings.member("closeAt"); n != nil {
		g.CloseAt, _ = ParseTime(n.text)
	}
	if n := settings.member("responseLimit"); n != nil {
		g.ResponseLimit = max(int64(n.num), 0)
	}
	return g
}
