package main

import (
	"crypto/sha256"
	"fmt"
	"slices"
)

// What can be wrong with a ledger.
const (
	lostSubmission    = "lost submission"
	storedTwice       = "submission stored twice"
	otherSubmission   = "another submission than acknowledged"
	unaskedSubmission = "submission that nobody sent"
	neverAcknowledged = "submission never acknowledged"
	lostEvent         = "lost event"
	ghostEvent        = "event without a submission"
	secondEvent       = "second event for a submission"
	otherContent      = "event with another submission's answers"
	changedBody       = "changed body"
	badSignature      = "bad signature"
	tooManyDuplicates = "too many duplicates"
	notDrained        = "delivery left in the queue"
	miscounted        = "funnel differs from the submissions"
)

// finding is one thing that is wrong.
type finding struct {
	kind string
	what string
}

func (f finding) String() string { return f.kind + ": " + f.what }

// ledger is what each side says has happened, by the time that all is quiet.
type ledger struct {
	// The load generator's: what was acknowledged, in order, a key once for each
	// time that it was sent and acknowledged; and the keys that never were.
	acknowledged []acknowledgement
	unanswered   []string
	// The database's.
	stored  []submission
	left    []string // of the queue
	counted int64
	// The receiver's, in order.
	received []reception

	webhooks      int // the receiver's, numbered from 0
	maxDuplicates int
}

// acknowledgement: the service said that the submission with this idempotency
// key is stored under this id.
type acknowledgement struct{ key, submission string }

// submission is a row of the database.
type submission struct{ id, key, event string }

// reception is one request that a webhook got.
type reception struct {
	webhook    int
	event      string // its id, as the body tells it
	submission string
	key        string // the answer: the key that the load generator chose
	body       [sha256.Size]byte
	signed     bool // the signature verifies
	accepted   bool // it was answered with success
}

// duplicates counts the events that a webhook accepted again.
func (l ledger) duplicates() int {
	accepted := map[delivery]int{}
	n := 0
	for _, r := range l.received {
		if r.accepted {
			to := delivery{r.webhook, r.event}
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

// check compares the three sides and returns everything that is wrong.
func (l ledger) check() []finding {
	found := append(l.checkSubmissions(), l.checkEvents()...)
	for _, what := range l.left {
		found = append(found, finding{notDrained, what})
	}
	if l.counted != int64(len(l.stored)) {
		found = append(found, finding{miscounted, fmt.Sprintf("%d counted, %d stored", l.counted, len(l.stored))})
	}
	if n := l.duplicates(); n > l.maxDuplicates {
		found = append(found, finding{tooManyDuplicates, fmt.Sprintf("%d, at most %d are allowed", n, l.maxDuplicates)})
	}
	return found
}

// checkSubmissions compares what was acknowledged with what is stored.
func (l ledger) checkSubmissions() (found []finding) {
	byKey := map[string][]string{}
	for _, s := range l.stored {
		byKey[s.key] = append(byKey[s.key], s.id)
	}
	sent := map[string]bool{}
	for _, key := range l.unanswered {
		sent[key] = true
		found = append(found, finding{neverAcknowledged, key})
	}
	for _, a := range l.acknowledged {
		sent[a.key] = true
		switch ids := byKey[a.key]; {
		case len(ids) == 0:
			found = append(found, finding{lostSubmission, a.key + " as " + a.submission})
		case !slices.Contains(ids, a.submission):
			found = append(found, finding{otherSubmission, fmt.Sprintf("%s is %s, was acknowledged as %s", a.key, ids[0], a.submission)})
		}
	}
	for _, s := range l.stored {
		if ids := byKey[s.key]; len(ids) > 1 && ids[0] == s.id {
			found = append(found, finding{storedTwice, fmt.Sprintf("%s as %s", s.key, ids)})
		}
		if !sent[s.key] {
			found = append(found, finding{unaskedSubmission, s.key + " as " + s.id})
		}
	}
	return found
}

// checkEvents compares what is stored with what was received.
func (l ledger) checkEvents() (found []finding) {
	stored := map[string]submission{}
	for _, s := range l.stored {
		stored[s.id] = s
	}
	accepted := map[delivery]bool{}
	bodies := map[string][sha256.Size]byte{}
	for _, r := range l.received {
		what := fmt.Sprintf("%s of submission %s at webhook %d", r.event, r.submission, r.webhook)
		switch s, ok := stored[r.submission]; {
		case !ok:
			found = append(found, finding{ghostEvent, what})
		case s.event != r.event:
			found = append(found, finding{secondEvent, what + ", the database has " + s.event})
		case s.key != r.key:
			found = append(found, finding{otherContent, fmt.Sprintf("%s: %s, want %s", what, r.key, s.key)})
		}
		// Also between webhooks: the bytes are stored once.
		if first, ok := bodies[r.event]; !ok {
			bodies[r.event] = r.body
		} else if first != r.body {
			found = append(found, finding{changedBody, what})
		}
		if !r.signed {
			found = append(found, finding{badSignature, what})
		}
		if r.accepted {
			accepted[delivery{r.webhook, r.event}] = true
		}
	}
	for _, s := range l.stored {
		for webhook := range l.webhooks {
			if !accepted[delivery{webhook, s.event}] {
				found = append(found, finding{lostEvent, fmt.Sprintf("%s of submission %s at webhook %d", s.event, s.id, webhook)})
			}
		}
	}
	return found
}
