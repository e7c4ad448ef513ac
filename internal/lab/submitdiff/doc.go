// Package submitdiff compares how two revisions of storage/postgres store submissions.
//
// Sixteen callers run random operations on forms of their own, for which all results and rows must
// be equal, and on shared forms, for which totals must be equal and invariants must hold. In a
// worktree of the old revision with a copy of this directory, and then here, run
//
//	go run ./internal/lab/pgtest/with -- go test ./internal/lab/submitdiff -run NoDifference -timeout 0 \
//		-submitdiff.steps 100000 -submitdiff.rounds DIRECTORY
//
// The first run writes the rounds to the directory and the second one compares them. Without a
// directory the tests compare this build with itself, and check that planted faults are found.
package submitdiff
