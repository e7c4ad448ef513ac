package pagestate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// PartialState is the state of a partial submission that a page contains.
type PartialState struct {
	Token        string            `json:"t,omitempty"` // Empty until the partial submission is created.
	Revision     int64             `json:"r,omitempty"`
	Block        string            `json:"b,omitempty"` // The farthest block that the respondent has reached.
	Digests      map[string]string `json:"k,omitempty"` // By block, at the revision. Answers with another digest were changed on this page.
	SharingShown bool              `json:"s,omitempty"` // Whether the page said that the form's users can see it.
	Disabled     bool              `json:"o,omitempty"` // Whether the respondent deleted it, which stops automatic saving.
}

// Digest returns a short digest of an answer, or "" for a missing answer.
func Digest(answer json.RawMessage) string {
	if len(answer) == 0 {
		return ""
	}
	sum := sha256.Sum256(answer)
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// Changed reports whether an answer differs from the stored answer at the revision.
func (h *PartialState) Changed(block string, answer json.RawMessage) bool {
	return h.Digests[block] != Digest(answer)
}

// SetKnown records the stored answers and their revision.
func (h *PartialState) SetKnown(revision int64, answers map[string]json.RawMessage) {
	h.Revision, h.Digests = revision, make(map[string]string, len(answers))
	for id, answer := range answers {
		h.Digests[id] = Digest(answer)
	}
}
