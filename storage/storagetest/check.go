package storagetest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/formsvc/formsvc/storage"
)

// ok ends the case unless err is nil. what names the call, and why it has to
// succeed where that is not plain.
func (b *bundle) ok(err error, what string, args ...any) {
	b.Helper()
	if err == nil {
		return
	}
	b.unimplemented(err, what, args...)
	b.Fatalf("%s: want no error, got: %v", fmt.Sprintf(what, args...), err)
}

// is reports a failure unless err is the wanted one, wrapped or not.
func (b *bundle) is(err, want error, what string, args ...any) {
	b.Helper()
	if errors.Is(err, want) {
		return
	}
	b.unimplemented(err, what, args...)
	b.Errorf("%s: want the error %q, got: %v", fmt.Sprintf(what, args...), want, err)
}

// isRevision reports a failure unless err is a *storage.RevisionError that
// tells the current revision.
func (b *bundle) isRevision(err error, current int64, what string) {
	b.Helper()
	b.is(err, storage.ErrRevisionMismatch, "%s", what)
	var mismatch *storage.RevisionError
	if !errors.As(err, &mismatch) {
		b.Errorf("%s: want a *storage.RevisionError, got: %T", what, err)
		return
	}
	if mismatch.Current != current {
		b.Errorf("%s: want RevisionError.Current = %d, got %d", what, current, mismatch.Current)
	}
}

func (b *bundle) unimplemented(err error, what string, args ...any) {
	b.Helper()
	if errors.Is(err, storage.ErrUnimplemented) {
		b.Fatalf("%s: the store returned ErrUnimplemented; implement the method, or pass Skip with a reason",
			fmt.Sprintf(what, args...))
	}
}

// same reports a failure unless got and want are equal as far as the contract
// goes: see render.
func same[V any](b *bundle, got, want V, what string, args ...any) {
	b.Helper()
	g, w := render(got), render(want)
	if g == w {
		return
	}
	b.Errorf("%s: the result is not the expected one\n%s", fmt.Sprintf(what, args...), difference(g, w))
}

// difference shows where two renderings part, without the lines that they begin
// and end with alike.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for len(g) > 0 && len(w) > 0 && g[0] == w[0] {
		g, w = g[1:], w[1:]
	}
	for len(g) > 0 && len(w) > 0 && g[len(g)-1] == w[len(w)-1] {
		g, w = g[:len(g)-1], w[:len(w)-1]
	}
	var out strings.Builder
	show := func(label string, lines []string) {
		const most = 20
		for _, l := range lines[:min(most, len(lines))] {
			fmt.Fprintf(&out, "  %s %s\n", label, l)
		}
		if len(lines) > most {
			fmt.Fprintf(&out, "  %s … and %d lines more\n", label, len(lines)-most)
		}
		if len(lines) == 0 {
			fmt.Fprintf(&out, "  %s nothing here\n", label)
		}
	}
	show("want", w)
	show("got ", g)
	return strings.TrimSuffix(out.String(), "\n")
}

// only returns the single record of a list and ends the case when there is none
// or more than one.
func only[V any](b *bundle, list []V, what string) V {
	b.Helper()
	if len(list) != 1 {
		b.Fatalf("%s: want exactly one record, got %d", what, len(list))
	}
	return list[0]
}

// unchanged runs f and reports a failure when what the store shows is not the
// same before and after.
func (b *bundle) unchanged(what string, f func()) {
	b.Helper()
	before := b.snapshot()
	f()
	if after := b.snapshot(); after != before {
		b.Errorf("%s: the call must not change anything, but it did\n%s", what, difference(after, before))
	}
}

// idsOf returns the ids of records, in their order.
func idsOf[V any](list []V, id func(V) storage.ID) []storage.ID {
	ids := make([]storage.ID, 0, len(list))
	for _, v := range list {
		ids = append(ids, id(v))
	}
	return ids
}

func workspaceID(w storage.Workspace) storage.ID   { return w.ID }
func formID(f storage.Form) storage.ID             { return f.ID }
func submissionID(s storage.Submission) storage.ID { return s.ID }
func webhookID(w storage.Webhook) storage.ID       { return w.ID }
func keyID(k storage.Key) storage.ID               { return k.ID }
func attemptID(a storage.Delivery) storage.ID      { return a.ID }
func eventID(d storage.ClaimedDelivery) storage.ID { return d.Lease.EventID }
