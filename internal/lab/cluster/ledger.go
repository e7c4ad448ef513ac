//go:build linux

package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres"
)

// What can be wrong beside what internal/lab/ledger knows.
const (
	halfOrder = "an order without its response, or a response without its order"
	lostEdit  = "lost edit"
	staleRead = "a read that is older than an acknowledged edit"
	badExport = "an export that is not whole, or has something twice"
	oddAnswer = "an answer that no host should give"
	noAnswer  = "no answer in time"
	died      = "a host's process ended by itself"
	notWhole  = "the cluster did not recover"
)

// database is what the ledger reads, past the hosts.
type database struct {
	pool  *pgxpool.Pool
	store *postgres.Store
}

func (d *database) submissions(ctx context.Context) ([]ledger.Submission, error) {
	rows, err := d.pool.Query(ctx, `SELECT id, answers->0->>'value', event_id FROM formsvc.submissions ORDER BY id`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s ledger.Submission, err error) {
		var id, event []byte
		err = row.Scan(&id, &s.Key, &event)
		s.ID, s.Event = hex.EncodeToString(id), hex.EncodeToString(event)
		return s, err
	})
}

// orders are the host's own rows.
func (d *database) orders(ctx context.Context) ([]string, error) {
	rows, err := d.pool.Query(ctx, `SELECT key FROM orders ORDER BY key`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// left describes the deliveries in the queue.
func (d *database) left(ctx context.Context) ([]string, error) {
	rows, err := d.pool.Query(ctx, `SELECT format('%s to webhook %s, attempt %s, due in %s', encode(event_id, 'hex'), encode(webhook_id, 'hex'), attempt, due_at - now())
		FROM formsvc.deliveries ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// counted is the number of responses in the forms' funnels.
func (d *database) counted(ctx context.Context, forms []formsvc.Form) (n int64, err error) {
	for _, form := range forms {
		funnel, err := d.store.Funnel(ctx, storage.AsHost(), form.ID, storage.Window{})
		if err != nil {
			return 0, err
		}
		n += funnel.Submissions
	}
	return n, nil
}

// drain waits until the queue is empty, or has not got shorter for as long as that may take.
func (d *database) drain(ctx context.Context, patience time.Duration) error {
	for least, since := -1, time.Now(); ; pause(ctx, 200*time.Millisecond) {
		left, err := d.left(ctx)
		if err != nil {
			return err
		}
		if least < 0 || len(left) < least {
			least, since = len(left), time.Now()
		}
		if len(left) == 0 || time.Since(since) > patience {
			return nil
		}
	}
}

// compare completes the ledger and returns it with everything that is wrong. The hosts still
// send what is in the queue, if anything is. The receiver writes an event down before its
// delivery can leave the queue, so the queue is read first: what is neither there nor written
// down then is lost.
func (d *database) compare(ctx context.Context, driver *driver, receiver *ledger.Receiver, duplicates int) (l ledger.Ledger, found []ledger.Finding, err error) {
	l = ledger.Ledger{
		Acknowledged: driver.acknowledged, Unanswered: driver.unanswered,
		Webhooks: webhooksEach, MaxDuplicates: duplicates,
	}
	if l.Stored, err = d.submissions(ctx); err != nil {
		return l, nil, err
	}
	if l.Left, err = d.left(ctx); err != nil {
		return l, nil, err
	}
	l.Received, _ = receiver.Log()
	if l.Counted, err = d.counted(ctx, driver.forms); err != nil {
		return l, nil, err
	}
	orders, err := d.orders(ctx)
	if err != nil {
		return l, nil, err
	}
	found = slices.Concat(driver.findings, l.Check(), halfOrders(l.Stored, orders))
	for form, number := range driver.edits {
		status, text, err := driver.call(ctx, client{random: random(1)}, http.MethodGet, "/v1/forms/"+form.String(), "", nil)
		if name := nameOf(text); err != nil || status != http.StatusOK || name != fmt.Sprintf("edit %d", number) {
			found = append(found, ledger.Finding{Kind: lostEdit, What: fmt.Sprintf("%s is named %q, and edit %d was acknowledged (%d, %v)", form, name, number, status, err)})
		}
	}
	return l, found, nil
}

// halfOrders compares the host's rows with the responses that were stored with them.
func halfOrders(stored []ledger.Submission, orders []string) (found []ledger.Finding) {
	missing := map[string]bool{}
	for _, key := range orders {
		missing[key] = true
	}
	for _, s := range stored {
		if !strings.HasPrefix(s.Key, doorOrders) {
			continue
		}
		if !missing[s.Key] {
			found = append(found, ledger.Finding{Kind: halfOrder, What: "the order of " + s.Key})
		}
		delete(missing, s.Key)
	}
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		found = append(found, ledger.Finding{Kind: halfOrder, What: "the response of " + key})
	}
	return found
}

// report writes what came of it all.
func report(w io.Writer, l ledger.Ledger, d *driver, done []happened, found []ledger.Finding) {
	accepted := 0
	for _, r := range l.Received {
		if r.Accepted {
			accepted++
		}
	}
	keys := map[string]bool{}
	for _, a := range l.Acknowledged {
		keys[a.Key] = true
	}
	fmt.Fprintf(w, "\n%-28s %5s  longest silence in seconds\n%-28s %5s", "fault", "times", "", "")
	for _, door := range doors {
		fmt.Fprintf(w, " %8s", door)
	}
	fmt.Fprintln(w)
	for _, k := range kinds {
		times, longest := 0, map[string]time.Duration{}
		for _, h := range done {
			if h.kind == k.name {
				times++
				for door, silence := range h.silences {
					longest[door] = max(longest[door], silence)
				}
			}
		}
		if times == 0 {
			continue
		}
		fmt.Fprintf(w, "%-28s %5d", k.name, times)
		for _, door := range doors {
			fmt.Fprintf(w, " %8.1f", longest[door].Seconds())
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\nresponses: %d acknowledged, %d stored; edits: %d; exports: %d\n", len(keys), len(l.Stored), sum(d.edits), d.exports)
	fmt.Fprintf(w, "events: %d accepted of %d, %d twice (at most %d)\n", accepted, len(l.Stored)*l.Webhooks, l.Duplicates(), l.MaxDuplicates)
	fmt.Fprintf(w, "the slowest answer took %.1f s; asked again: %v\n", d.slowest.Seconds(), d.refusals)
	counts := map[string]int{}
	for _, f := range found {
		if counts[f.Kind]++; counts[f.Kind] <= 5 {
			fmt.Fprintln(w, "FOUND", f)
		}
	}
	for _, kind := range ledger.Kinds(found) {
		fmt.Fprintf(w, "FOUND %d × %s\n", counts[kind], kind)
	}
	if len(found) == 0 {
		fmt.Fprintln(w, "nothing lost, nothing twice")
	}
}

func sum[K comparable](m map[K]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}
