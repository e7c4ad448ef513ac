package ledger

import (
	"slices"
	"testing"
)

// healthy is a ledger without a fault: two submissions, two webhooks, one
// duplicate, which is allowed, one refused request.
func healthy() Ledger {
	return Ledger{
		Acknowledged: []Acknowledgement{{"a", "s1"}, {"a", "s1"}, {"b", "s2"}},
		Stored:       []Submission{{"s1", "a", "e1"}, {"s2", "b", "e2"}},
		Counted:      2,
		Received: []Reception{
			{Webhook: 0, Event: "e1", Submission: "s1", Key: "a", Body: [32]byte{1}, Signed: true},
			{Webhook: 0, Event: "e1", Submission: "s1", Key: "a", Body: [32]byte{1}, Signed: true, Accepted: true},
			{Webhook: 1, Event: "e1", Submission: "s1", Key: "a", Body: [32]byte{1}, Signed: true, Accepted: true},
			{Webhook: 0, Event: "e2", Submission: "s2", Key: "b", Body: [32]byte{2}, Signed: true, Accepted: true},
			{Webhook: 1, Event: "e2", Submission: "s2", Key: "b", Body: [32]byte{2}, Signed: true, Accepted: true},
			{Webhook: 1, Event: "e2", Submission: "s2", Key: "b", Body: [32]byte{2}, Signed: true, Accepted: true},
		},
		Webhooks:      2,
		MaxDuplicates: 1,
	}
}

func TestAHealthyLedgerHasNoFindings(t *testing.T) {
	t.Parallel()
	if found := healthy().Check(); len(found) != 0 {
		t.Errorf("found %q", found)
	}
}

func TestEachFaultOfALedgerIsNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*Ledger)
		want  []string
	}{
		"an acknowledged submission is gone": {
			func(l *Ledger) { l.Acknowledged = append(l.Acknowledged, Acknowledgement{"c", "s3"}) },
			[]string{LostSubmission},
		},
		"a submission is stored twice": {
			func(l *Ledger) {
				l.Stored = append(l.Stored, Submission{"s3", "b", "e3"})
				l.Counted = 3
			},
			[]string{LostEvent, StoredTwice},
		},
		"a repetition is acknowledged as another submission": {
			func(l *Ledger) { l.Acknowledged[1].Submission = "s9" },
			[]string{OtherSubmission},
		},
		"a submission is stored that nobody sent": {func(l *Ledger) { l.Acknowledged = l.Acknowledged[:2] }, []string{UnaskedSubmission}},
		"a submission never succeeds":             {func(l *Ledger) { l.Unanswered = []string{"c"} }, []string{NeverAcknowledged}},
		"one webhook of two lacks an event":       {func(l *Ledger) { l.Received = slices.Delete(l.Received, 2, 3) }, []string{LostEvent}},
		"an event was refused and not sent again": {func(l *Ledger) { l.Received[2].Accepted = false }, []string{LostEvent}},
		"an event tells of a submission that is not stored": {
			func(l *Ledger) {
				l.Received = append(l.Received, Reception{Event: "e9", Submission: "s9", Key: "c", Signed: true, Accepted: true})
			},
			[]string{GhostEvent},
		},
		"a submission has a second event": {
			func(l *Ledger) {
				l.Received = append(l.Received, Reception{Event: "e9", Submission: "s2", Key: "b", Signed: true, Accepted: true})
			},
			[]string{SecondEvent},
		},
		"an event has the answers of another submission": {func(l *Ledger) { l.Received[3].Key = "a" }, []string{OtherContent}},
		"a body changes between attempts":                {func(l *Ledger) { l.Received[1].Body[5]++ }, []string{ChangedBody}},
		"a body differs between webhooks":                {func(l *Ledger) { l.Received[2].Body[5]++ }, []string{ChangedBody}},
		"a signature is wrong":                           {func(l *Ledger) { l.Received[0].Signed = false }, []string{BadSignature}},
		"there are more duplicates than kills explain":   {func(l *Ledger) { l.MaxDuplicates = 0 }, []string{TooManyDuplicates}},
		"the queue is not empty":                         {func(l *Ledger) { l.Left = []string{"e1"} }, []string{NotDrained}},
		"the funnel counted a submission twice":          {func(l *Ledger) { l.Counted = 3 }, []string{Miscounted}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := healthy()
			c.spoil(&l)
			if got := Kinds(l.Check()); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
