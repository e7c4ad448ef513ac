package handler

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/apidoc"
	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// described is what the description says of an operation, in the terms of the
// table.
func described(t *testing.T) map[string]string {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &document))
	rows := map[string]string{}
	for path, members := range document.Paths {
		for method, raw := range members {
			if method == "parameters" {
				continue
			}
			var op struct {
				OperationID string
				Security    []map[string][]string
			}
			expect.NoError(t, json.Unmarshal(raw, &op))
			rows[op.OperationID] = row(method, strings.TrimPrefix(path, "/v1"), op.Security)
		}
	}
	return rows
}

func row(method, path string, security []map[string][]string) string {
	scopes := map[string]bool{}
	for _, alternative := range security {
		for _, names := range alternative {
			scopes[strings.Join(names, " ")] = true
		}
	}
	var list []string
	for s := range scopes {
		list = append(list, "scope("+s+")")
	}
	sort.Strings(list)
	return strings.ToUpper(method) + " " + path + " " + strings.Join(list, ", ")
}

func TestTheTableAndTheDescriptionAreOne(t *testing.T) {
	table := map[string]string{}
	for _, op := range operations() {
		security := []map[string][]string{{"ApiKey": {string(op.scope)}}}
		if op.public {
			security = nil
		}
		_, twice := table[op.id]
		expect.That(t, !twice, "%s is there twice", op.id)
		table[op.id] = row(op.method, op.path, security)
	}
	expect.Same(t, described(t), table, "the table, against the description")
}

// Hosts read there which paths there are, and which call of the root does the same.
func TestTheDocumentationListsTheOperations(t *testing.T) {
	text, textErr := os.ReadFile("doc.go")
	surface, surfaceErr := os.ReadFile("../internal/docs/surface.txt")
	expect.NoError(t, errors.Join(textErr, surfaceErr))
	var want, got []string
	for _, op := range operations() {
		scope := string(op.scope)
		if op.public {
			scope = "no key"
		} else if scope == "" {
			scope = "any key"
		}
		want = append(want, op.method+" "+op.path+" "+scope)
	}
	for _, row := range regexp.MustCompile(`(?m)^//\t([A-Z]+) +(/\S*) +(no key|any key|\S+)(?: +Client\.(\w+))?$`).FindAllStringSubmatch(string(text), -1) {
		got = append(got, strings.Join(row[1:4], " "))
		if call := row[4]; call == "" && !strings.HasSuffix(row[3], " key") || call != "" && !strings.Contains(string(surface), "func (c Client) "+call+"(") {
			t.Errorf("%s: there is no Client.%s", row[0], call)
		}
	}
	expect.Same(t, want, got, "doc.go, against the operations")
}

// A key with a scope that nothing needs would be a key for nothing.
func TestEveryScopeIsNeeded(t *testing.T) {
	for _, scope := range storage.Scopes() {
		expect.That(t, slices.ContainsFunc(operations(), func(op operation) bool { return op.scope == scope }),
			"no operation needs %s", scope)
	}
}

func TestTheErrorCatalogueAndTheDescriptionAreOne(t *testing.T) {
	var document struct {
		Codes      map[string]int `json:"x-error-codes"`
		Components struct {
			Schemas struct {
				Error struct {
					Properties struct {
						Type struct {
							Words []string `json:"x-extensible-enum"`
						}
					}
				}
			}
		}
	}
	expect.NoError(t, json.Unmarshal(schema.OpenAPI(), &document))
	codes, kinds := map[string]int{}, map[string]bool{}
	for _, e := range apierror.Catalog {
		codes[e.Code] = e.Status
		kinds[apidoc.ErrorType(e.Status)] = true
	}
	expect.Same(t, document.Codes, codes, "the catalog, against x-error-codes")
	describedKinds := map[string]bool{}
	for _, kind := range document.Components.Schemas.Error.Properties.Type.Words {
		describedKinds[kind] = true
	}
	expect.Same(t, describedKinds, kinds, "the error types, against those described")
}
