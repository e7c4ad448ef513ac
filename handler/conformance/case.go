package conformance

import (
	"slices"
	"strings"
)

// Case describes one case of the suite.
type Case struct {
	Name     string    `json:"name"`     // stable, "group/name"
	Sentence string    `json:"sentence"` // the promise that it holds the service to
	Place    string    `json:"place"`    // where the description says so: a JSON pointer into it, "#" and a heading
	Needs    []Feature `json:"needs,omitempty"`
}

// Cases lists all cases in the order in which they run.
func Cases() []Case {
	var out []Case
	for _, c := range allCases() {
		out = append(out, c.Case())
	}
	return out
}

// testCase is a case and how it runs.
type testCase struct {
	name     string
	sentence string
	needs    []Feature
	run      func(*session)
}

// Case returns the public description of c.
func (c testCase) Case() Case { return Case{c.name, c.sentence, place(c.name), slices.Clone(c.needs)} }

// is reports whether name names the case or its group.
func (c testCase) is(name string) bool {
	group, _, _ := strings.Cut(c.name, "/")
	return name == c.name || name == group
}

// allCases collects the groups, a file each.
func allCases() []testCase {
	all := slices.Concat(
		mountingCases(),
		descriptionCases(),
		routingCases(),
		requestIDCases(),
		authCases(),
		scopeCases(),
		orderCases(),
		bodyCases(),
		parameterCases(),
		meCases(),
		workspaceCases(),
		formCases(),
		revisionCases(),
		definitionCases(),
		blockCases(),
		submissionCases(),
		analyticsCases(),
		webhookCases(),
		deliveryCases(),
		pagingCases(),
		isolationCases(),
		trashCases(),
		concurrencyCases(),
		rateLimitCases(),
	)
	for i, c := range all {
		if needsCreateKey(c.name) {
			all[i].needs = append([]Feature{NeedsCreateKey}, c.needs...)
		}
	}
	return all
}

// needs is a short way to write down the features of a case.
func needs(f ...Feature) []Feature { return f }
