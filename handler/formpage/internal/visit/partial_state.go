package visit

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// PartialState is what a page carries of the half response that it saves.
type PartialState struct {
	Token    string `json:"t,omitempty"` // "": none is made yet
	Revision int64  `json:"r,omitempty"`
	Block    string `json:"b,omitempty"` // the farthest one that the respondent came to
	// Known has the digest of each answer at the revision. It tells which answers the respondent
	// changed since then in this page.
	Known        map[string]string `json:"k,omitempty"`
	SharingShown bool              `json:"s,omitempty"` // the page said that owners see it
	Disabled     bool              `json:"o,omitempty"` // the respondent had it removed: nothing is saved by itself
}

// Digest is a short text that stands for an answer, "" for none.
func Digest(answer json.RawMessage) string {
	if len(answer) == 0 {
		return ""
	}
	sum := sha256.Sum256(answer)
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// Changed reports whether an answer of the page is another one than at the revision.
func (h *PartialState) Changed(block string, answer json.RawMessage) bool {
	return h.Known[block] != Digest(answer)
}

// SetKnown notes the answers at a revision.
func (h *PartialState) SetKnown(revision int64, answers map[string]json.RawMessage) {
	h.Revision, h.Known = revision, make(map[string]string, len(answers))
	for id, answer := range answers {
		h.Known[id] = Digest(answer)
	}
}
