package conformance_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/formsvc/formsvc/handler/conformance"
	"github.com/formsvc/formsvc/schema"
)

// Every operation succeeds in a case of its resource. The cases about keys, scopes and routes do
// not count: they go through all operations and look at none of them closely.
func TestEveryOperationHasACase(t *testing.T) {
	t.Parallel()
	var d struct {
		Paths map[string]map[string]json.RawMessage
	}
	noError(t, json.Unmarshal(schema.OpenAPI(), &d))
	patterns, uncalled := map[string]*regexp.Regexp{}, map[string]bool{}
	parameter := regexp.MustCompile(`\\\{[^}]*\}`)
	for path, methods := range d.Paths {
		for method, member := range methods {
			var o struct{ OperationID string }
			if json.Unmarshal(member, &o) != nil || o.OperationID == "" {
				continue // the parameters of the path
			}
			at := parameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+")
			patterns[o.OperationID] = regexp.MustCompile("^" + strings.ToUpper(method) + " " + at + "$")
			uncalled[o.OperationID] = true
		}
	}
	var mu sync.Mutex
	target := newTarget(t, func(e *exchange) {
		e.ask()
		if e.status >= 300 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for id, pattern := range patterns {
			if pattern.MatchString(e.r.Method + " " + e.r.URL.Path) {
				delete(uncalled, id)
			}
		}
	})
	must(conformance.Check(t.Context(), target, conformance.Only("description/content", "me", "workspaces", "forms", "blocks",
		"submissions", "analytics", "webhooks")))
	if len(uncalled) > 0 {
		t.Errorf("no case of a resource calls %q", slices.Sorted(maps.Keys(uncalled)))
	}
}
