package pagestate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
)

// PartialState is what a page stores about a partial submission.
type PartialState struct {
	Token        string            `json:"t,omitempty"` // Empty until the partial submission is created, or if it belongs to a respondent.
	Revision     int64             `json:"r,omitempty"`
	Block        string            `json:"b,omitempty"` // The last block that the respondent has reached.
	Digests      map[string]string `json:"k,omitempty"` // The answers' digests at this revision, by block. If an answer's digest differs, this page has changed the answer.
	SharingShown bool              `json:"s,omitempty"` // Whether the page said that the form's users can read it.
	Disabled     bool              `json:"o,omitempty"` // Whether the respondent deleted it, which stops automatic saving.
}

// DigestAnswer returns a short digest of an answer, or "" if there is no answer.
func DigestAnswer(answer json.RawMessage) string {
	if len(answer) == 0 {
		return ""
	}
	sum := sha256.Sum256(answer)
	return base64.RawURLEncoding.EncodeToString(sum[:6])
}

// Saved reports whether the page knows a stored partial submission. A respondent's has no token.
func (h *PartialState) Saved() bool { return h.Token != "" || h.Revision > 0 }

// Changed reports whether answer differs from the answer that was stored at the revision.
func (h *PartialState) Changed(block string, answer json.RawMessage) bool {
	return h.Digests[block] != DigestAnswer(answer)
}

// SetKnown records the stored answers and their revision.
func (h *PartialState) SetKnown(revision int64, answers map[string]json.RawMessage) {
	h.Revision, h.Digests = revision, make(map[string]string, len(answers))
	for id, answer := range answers {
		h.Digests[id] = DigestAnswer(answer)
	}
}
