package main

import (
	"slices"
	"testing"
)

// healthy is a ledger without a fault: two submissions, two webhooks, one
// duplicate, which is allowed, one refused request.
func healthy() ledger {
	return ledger{
		acknowledged: []acknowledgement{{"a", "s1"}, {"a", "s1"}, {"b", "s2"}},
		stored:       []submission{{"s1", "a", "e1"}, {"s2", "b", "e2"}},
		counted:      2,
		received: []reception{
			{webhook: 0, event: "e1", submission: "s1", key: "a", body: [32]byte{1}, signed: true},
			{webhook: 0, event: "e1", submission: "s1", key: "a", body: [32]byte{1}, signed: true, accepted: true},
			{webhook: 1, event: "e1", submission: "s1", key: "a", body: [32]byte{1}, signed: true, accepted: true},
			{webhook: 0, event: "e2", submission: "s2", key: "b", body: [32]byte{2}, signed: true, accepted: true},
			{webhook: 1, event: "e2", submission: "s2", key: "b", body: [32]byte{2}, signed: true, accepted: true},
			{webhook: 1, event: "e2", submission: "s2", key: "b", body: [32]byte{2}, signed: true, accepted: true},
		},
		webhooks:      2,
		maxDuplicates: 1,
	}
}

func TestAHealthyLedgerHasNoFindings(t *testing.T) {
	t.Parallel()
	if found := healthy().check(); len(found) != 0 {
		t.Errorf("found %q", found)
	}
}

func TestEachFaultOfALedgerIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*ledger)
		want  []string
	}{
		"an acknowledged submission is gone": {
			func(l *ledger) { l.acknowledged = append(l.acknowledged, acknowledgement{"c", "s3"}) },
			[]string{lostSubmission},
		},
		"a submission is stored twice": {
			func(l *ledger) {
				l.stored = append(l.stored, submission{"s3", "b", "e3"})
				l.counted = 3
			},
			[]string{lostEvent, storedTwice},
		},
		"a repetition is acknowledged as another submission": {
			func(l *ledger) { l.acknowledged[1].submission = "s9" },
			[]string{otherSubmission},
		},
		"a submission is stored that nobody sent": {
			func(l *ledger) { l.acknowledged = l.acknowledged[:2] },
			[]string{unaskedSubmission},
		},
		"a submission never succeeds": {
			func(l *ledger) { l.unanswered = []string{"c"} },
			[]string{neverAcknowledged},
		},
		"one webhook of two lacks an event": {
			func(l *ledger) { l.received = slices.Delete(l.received, 2, 3) },
			[]string{lostEvent},
		},
		"an event was refused and not sent again": {
			func(l *ledger) { l.received[2].accepted = false },
			[]string{lostEvent},
		},
		"an event tells of a submission that is not stored": {
			func(l *ledger) {
				l.received = append(l.received, reception{event: "e9", submission: "s9", key: "c", signed: true, accepted: true})
			},
			[]string{ghostEvent},
		},
		"a submission has a second event": {
			func(l *ledger) {
				l.received = append(l.received, reception{event: "e9", submission: "s2", key: "b", signed: true, accepted: true})
			},
			[]string{secondEvent},
		},
		"an event has the answers of another submission": {
			func(l *ledger) { l.received[3].key = "a" },
			[]string{otherContent},
		},
		"a body changes between attempts": {
			func(l *ledger) { l.received[1].body[5]++ },
			[]string{changedBody},
		},
		"a body differs between webhooks": {
			func(l *ledger) { l.received[2].body[5]++ },
			[]string{changedBody},
		},
		"a signature is wrong": {
			func(l *ledger) { l.received[0].signed = false },
			[]string{badSignature},
		},
		"there are more duplicates than kills explain": {
			func(l *ledger) { l.maxDuplicates = 0 },
			[]string{tooManyDuplicates},
		},
		"the queue is not empty": {
			func(l *ledger) { l.left = []string{"e1"} },
			[]string{notDrained},
		},
		"the funnel counted a submission twice": {
			func(l *ledger) { l.counted = 3 },
			[]string{miscounted},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := healthy()
			c.spoil(&l)
			if got := kinds(l.check()); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
