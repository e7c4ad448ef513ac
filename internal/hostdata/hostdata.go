// Package hostdata calls the choices and checks that a host provides for its forms.
package hostdata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/internal/timeout"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

const (
	// Timeout limits the calls for one submission or page.
	Timeout  = 2 * time.Second
	maxCalls = 64   // calls of one list or check at the same time
	maxLabel = 1000 // characters
	maxNames = 100  // characters of a name or title
)

// Host contains the lists and checks of a host. It is safe for concurrent use after the last call of Add.
type Host struct {
	Log    *slog.Logger
	Lists  Items[schema.ChoiceSource]
	Checks Items[func(context.Context, schema.CheckInput) (message string, err error)]
}

// Items are the lists or the checks of a host.
type Items[F any] []item[F]

type item[F any] struct {
	schema.NamedItem
	source F
	calls  chan struct{} // limits concurrent calls
}

// Add adds a list or check. It returns an error if the name or title is invalid, or if the name is taken.
func (l *Items[F]) Add(name, title string, source F) error {
	for _, text := range []string{name, title} {
		if cleanText(text) != text || text == "" || utf8.RuneCountInString(text) > maxNames {
			return fmt.Errorf("%q must have 1 to %d characters, without control characters or spaces around them", text, maxNames)
		}
	}
	if l.find(name) >= 0 {
		return fmt.Errorf("the name %q is already used", name)
	}
	*l = append(*l, item[F]{schema.NamedItem{Name: name, Title: title}, source, make(chan struct{}, maxCalls)})
	return nil
}

// Names returns the names and titles in the order in which they were added.
func (l Items[F]) Names() []schema.NamedItem {
	names := make([]schema.NamedItem, len(l))
	for i := range l {
		names[i] = l[i].NamedItem
	}
	return names
}

func (l Items[F]) find(name string) int {
	return slices.IndexFunc(l, func(i item[F]) bool { return i.Name == name })
}

// GetChoices returns at most q.Limit choices of a list. It omits choices without a valid ID.
func (h *Host) GetChoices(ctx context.Context, name string, q schema.ChoiceQuery) ([]schema.Choice, error) {
	all, err := call(ctx, h.Log, h.Lists, name, func(ctx context.Context, list schema.ChoiceSource) ([]schema.Choice, error) {
		return list.Choices(ctx, q)
	})
	offered, seen := []schema.Choice{}, map[string]bool{}
	for _, c := range all {
		if len(offered) == q.Limit {
			break
		}
		if answers.IsListID(c.ID) && !seen[c.ID] {
			seen[c.ID] = true
			c.Label = cmp.Or(cleanText(c.Label), c.ID)
			offered = append(offered, c)
		}
	}
	return offered, err
}

// GetLabels returns the labels of those choices that the list offers.
func (h *Host) GetLabels(ctx context.Context, name string, ids []string, q schema.ChoiceQuery) (map[string]string, error) {
	labels, err := call(ctx, h.Log, h.Lists, name, func(ctx context.Context, list schema.ChoiceSource) (map[string]string, error) {
		return list.Labels(ctx, slices.Clone(ids), q)
	})
	offered := make(map[string]string, len(ids))
	for _, id := range ids {
		if label, ok := labels[id]; ok {
			offered[id] = cmp.Or(cleanText(label), id)
		}
	}
	return offered, err
}

// RunCheck returns the message of a check, or "" if the answer is accepted.
func (h *Host) RunCheck(ctx context.Context, name string, in schema.CheckInput) (message string, err error) {
	in.Answers, in.Hidden = slices.Clone(in.Answers), maps.Clone(in.Hidden) // a call that hangs could still read them
	message, err = call(ctx, h.Log, h.Checks, name, func(ctx context.Context, check func(context.Context, schema.CheckInput) (string, error)) (string, error) {
		return check(ctx, in)
	})
	if message == "" {
		return "", err
	}
	return cmp.Or(cleanText(message), name), err
}

var errUnknown = errors.New("the host has no such list or check: check the names of WithChoices and WithCheck")

// call calls f with the list or check of that name. It logs errors. The returned error does not wrap the host's, which
// could otherwise look like an error of the service.
func call[F, T any](ctx context.Context, log *slog.Logger, items Items[F], name string, f func(context.Context, F) (T, error)) (value T, err error) {
	err = errUnknown
	if at := items.find(name); at >= 0 {
		value, err = timeout.Call(ctx, items[at].calls, func(ctx context.Context) (T, error) { return f(ctx, items[at].source) })
	}
	if err == nil {
		return value, nil
	}
	log.ErrorContext(ctx, "choices or check of the host failed", "name", name, "error", err)
	return value, fmt.Errorf("formsvc: choices or check %q of the host: %w: %v", name, storage.ErrUnavailable, err) //nolint:errorlint // see above
}

// cleanText replaces control characters and invalid bytes, trims whitespace and truncates long text.
func cleanText(text string) string {
	text = strings.TrimSpace(strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || c == utf8.RuneError {
			return ' '
		}
		return c
	}, text))
	if runes := []rune(text); len(runes) > maxLabel {
		text = string(runes[:maxLabel-1]) + "…"
	}
	return text
}
