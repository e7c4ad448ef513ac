// Package ledger compares what a load generator was told, what a database has and what
// receivers of webhooks got, and names everything that is wrong.
package ledger

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// What can be wrong with a ledger.
const (
	LostSubmission    = "lost submission"
	StoredTwice       = "submission stored twice"
	OtherSubmission   = "another submission than acknowledged"
	UnaskedSubmission = "submission that nobody sent"
	NeverAcknowledged = "submission never acknowledged"
	LostEvent         = "lost event"
	GhostEvent        = "event without a submission"
	SecondEvent       = "second event for a submission"
	OtherContent      = "event with another submission's answers"
	ChangedBody       = "changed body"
	BadSignature      = "bad signature"
	TooManyDuplicates = "too many duplicates"
	NotDrained        = "delivery left in the queue"
	Miscounted        = "funnel differs from the submissions"
	LostWrite         = "lost write"
	UnaskedWrite      = "write that nobody sent"
)

// Finding is one thing that is wrong.
type Finding struct {
	Kind string
	What string
}

func (f Finding) String() string { return f.Kind + ": " + f.What }

// Kinds returns what kinds of findings there are, each once, in order.
func Kinds(findings []Finding) []string {
	var kinds []string
	for _, f := range findings {
		kinds = append(kinds, f.Kind)
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// Ledger is what each side says has happened, by the time that all is quiet.
type Ledger struct {
	// The load generator's: what was acknowledged, in order, a key once for each
	// time that it was sent and acknowledged; and the keys that never were.
	Acknowledged []Acknowledgement
	Unanswered   []string
	// The database's.
	Stored  []Submission
	Left    []string // of the queue
	Counted int64
	// The receiver's, in order.
	Received []Reception

	Webhooks      int // the receiver's, numbered from 0
	MaxDuplicates int
}

// Acknowledgement says that the service called the submission with this key stored under this
// id, empty when whoever asked does not learn it.
type Acknowledgement struct{ Key, Submission string }

// Submission is a row of the database.
type Submission struct{ ID, Key, Event string }

// Reception is one request that a webhook got.
type Reception struct {
	Webhook    int
	Event      string // its id, as the body tells it
	Submission string
	Key        string // the answer: the key that the load generator chose
	Body       [sha256.Size]byte
	Signed     bool // the signature verifies
	Accepted   bool // it was answered with success
}

// Duplicates counts the events that a webhook accepted again.
func (l Ledger) Duplicates() int {
	accepted := map[delivery]int{}
	n := 0
	for _, r := range l.Received {
		if r.Accepted {
			to := delivery{r.Webhook, r.Event}
			if accepted[to]++; accepted[to] > 1 {
				n++
			}
		}
	}
	return n
}

// delivery is an event for a webhook.
type delivery struct {
	webhook int
	event   string
}

// Check compares the three sides and returns everything that is wrong.
func (l Ledger) Check() []Finding {
	found := append(l.CheckSubmissions(), l.checkEvents()...)
	for _, what := range l.Left {
		found = append(found, Finding{NotDrained, what})
	}
	if l.Counted != int64(len(l.Stored)) {
		found = append(found, Finding{Miscounted, fmt.Sprintf("%d counted, %d stored", l.Counted, len(l.Stored))})
	}
	if n := l.Duplicates(); n > l.MaxDuplicates {
		found = append(found, Finding{TooManyDuplicates, fmt.Sprintf("%d, at most %d are allowed", n, l.MaxDuplicates)})
	}
	return found
}

// CheckSubmissions compares what was acknowledged with what is stored.
func (l Ledger) CheckSubmissions() (found []Finding) {
	byKey := map[string][]string{}
	for _, s := range l.Stored {
		byKey[s.Key] = append(byKey[s.Key], s.ID)
	}
	sent := map[string]bool{}
	for _, key := range l.Unanswered {
		sent[key] = true
		found = append(found, Finding{NeverAcknowledged, key})
	}
	for _, a := range l.Acknowledged {
		sent[a.Key] = true
		switch ids := byKey[a.Key]; {
		case len(ids) == 0:
			found = append(found, Finding{LostSubmission, a.Key + " as " + a.Submission})
		case a.Submission != "" && !slices.Contains(ids, a.Submission):
			found = append(found, Finding{OtherSubmission, fmt.Sprintf("%s is %s, was acknowledged as %s", a.Key, ids[0], a.Submission)})
		}
	}
	for _, s := range l.Stored {
		if ids := byKey[s.Key]; len(ids) > 1 && ids[0] == s.ID {
			found = append(found, Finding{StoredTwice, fmt.Sprintf("%s as %s", s.Key, ids)})
		}
		if !sent[s.Key] {
			found = append(found, Finding{UnaskedSubmission, s.Key + " as " + s.ID})
		}
	}
	return found
}

// checkEvents compares what is stored with what was received.
func (l Ledger) checkEvents() (found []Finding) {
	stored := map[string]Submission{}
	for _, s := range l.Stored {
		stored[s.ID] = s
	}
	accepted := map[delivery]bool{}
	bodies := map[string][sha256.Size]byte{}
	for _, r := range l.Received {
		what := fmt.Sprintf("%s of submission %s at webhook %d", r.Event, r.Submission, r.Webhook)
		switch s, ok := stored[r.Submission]; {
		case !ok:
			found = append(found, Finding{GhostEvent, what})
		case s.Event != r.Event:
			found = append(found, Finding{SecondEvent, what + ", the database has " + s.Event})
		case s.Key != r.Key:
			found = append(found, Finding{OtherContent, fmt.Sprintf("%s: %s, want %s", what, r.Key, s.Key)})
		}
		// Also between webhooks: the bytes are stored once.
		if first, ok := bodies[r.Event]; !ok {
			bodies[r.Event] = r.Body
		} else if first != r.Body {
			found = append(found, Finding{ChangedBody, what})
		}
		if !r.Signed {
			found = append(found, Finding{BadSignature, what})
		}
		if r.Accepted {
			accepted[delivery{r.Webhook, r.Event}] = true
		}
	}
	for _, s := range l.Stored {
		for webhook := range l.Webhooks {
			if !accepted[delivery{webhook, s.Event}] {
				found = append(found, Finding{LostEvent, fmt.Sprintf("%s of submission %s at webhook %d", s.Event, s.ID, webhook)})
			}
		}
	}
	return found
}
