package conformance

import (
	"slices"
	"strings"
)

// keyAlone names the cases that need nothing but one key: they act as one user and
// look only at what they have made themselves. All others need CreateKey.
var keyAlone = map[string][]string{
	"mounting":    {"me", "form", "block-ids", "unknown-path", "wrong-method", "description", "host-header"},
	"description": {"public", "content", "paths", "references", "cacheable"},
	"routing":     {"allow", "unknown-path", "head", "head-length", "trailing-slash", "unknown-method", "unclean-path", "malformed-ids", "upper-case-ids", "unknown-parameters"},
	"request-id":  {"supplied", "replaced", "generated"},
	"auth":        {"required", "same-answer", "bearer", "precedence", "twice", "query"},
	"order":       {"route-before-key", "key-before-body", "body-before-resource", "resource-before-precondition", "body-before-precondition", "precondition-before-state"},
	"bodies":      {"hostile", "hostile-name", "duplicate-members", "nesting", "nodes", "number-length", "name-length", "size", "content-type", "spelling", "missing", "not-an-object", "unknown-members", "null", "nul-character", "names", "exact-case"},
	"parameters":  {"limit", "empty", "workspace", "times", "period", "malformed-query", "all-at-once"},
	"me":          {"fields"},
	"workspaces":  {"create", "name", "same-name", "update", "delete", "list", "list-current"},
	"forms":       {"create", "create-complete", "create-invalid", "list", "list-current", "identity", "updated-at", "update", "update-sections", "update-invalid", "is-closed", "delete"},
	"revisions":   {"etag", "never-again", "if-match-passes", "if-match-fails", "other-form", "without-if-match", "delete", "unchanged", "no-cache-validator", "other-methods"},
	"definitions": {"types", "integers", "enumerations", "ids", "colours", "times", "urls", "variables", "hidden-names", "accepted", "empty-values", "texts", "numbers", "order", "times-normalised", "calendar-days", "all-at-once", "limits"},
	"blocks":      {"append", "read", "replace", "other-sections", "merge-patch", "patch-invalid", "delete", "exists", "ids", "type-kept", "type-inferred"},
	"submissions": {"empty"},
	"analytics":   {"empty"},
	"webhooks":    {"create", "enabled", "create-invalid", "url-rejected", "url-syntax-first", "url-unresolved", "url-accepted", "update", "list", "independent", "delete", "limit", "deliveries", "secret"},
	"paging":      {"workspaces-walk", "workspaces-default", "workspaces-cursor", "workspaces-stable", "forms-walk", "forms-default", "forms-largest", "forms-cursor", "forms-stable", "forms-rotation"},
	"trash":       {"hidden"},
	"concurrency": {"if-match", "sections", "append", "same-block", "patch-blocks", "delete"},
}

// needsCreateKey reports whether a case needs users of its own.
func needsCreateKey(name string) bool {
	group, rest, _ := strings.Cut(name, "/")
	return !slices.Contains(keyAlone[group], rest)
}
