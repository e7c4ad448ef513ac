// Package formsvc is a form backend that a Go program embeds: workspaces, forms
// with ordered blocks, submissions, funnel analytics, signed webhooks and scoped
// API keys, as an [http.Handler].
//
// # Parts
//
// [New] returns a [Service]. It is the handler of the HTTP API, it has the Go
// calls that the API does not offer ([Service.Submit], [Service.CreateKey] and
// others), and it holds the Dispatcher that sends webhooks in the background.
// The host picks the storage: package storage/memory or storage/postgres, or one
// of its own that package storage/storagetest proves.
//
//	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
//	...
//	mux.Handle("/v1/", svc)
//	go svc.Dispatcher().Run(ctx)
//
// # What it never does
//
// New starts no goroutine and opens no connection. The service registers nothing
// global, reads no environment, writes no log unless it is given a logger, and
// never closes what the host gave it.
//
// # Branches
//
// The rule of a top-level block, in properties.rule, says which blocks a respondent meets,
// which must be answered, and where the form goes on:
//
//	{
//	  "show": L,                 // off the path unless L holds
//	  "require": L,              // in place of required
//	  "set": {"score": L},       // new values for variables of the definition
//	  "next": [{"if": L, "to": "a_later_block"}, {"to": "end"}]
//	}
//
// All members are optional. L is JsonLogic (jsonlogic.com) over
//
//	{"answers": {...}, "hidden": {...}, "variables": {...}}
//
// with the operators if, ?:, and, or, !, !!, ==, ===, !=, !==, <, <=, >, >=, min, max, +,
// -, *, /, %, cat, substr, in, merge, var, missing, missing_some, some, all and none.
//
// The path is walked once, in the order of the blocks. A block that its show, or
// properties.hide, takes off the path runs nothing of its rule. On the path, require is
// evaluated first; then the answer is taken; then set gives variables their new values,
// all at once; then the first next whose if holds, or that has none, jumps to a later
// block. The path ends at the first block of the type ending; "end" goes to the first
// ending that is not off the path. What a rule reads of a block that was not reached yet
// is null.
//
// [Service.Submit] walks the path that [Service.Path] shows for the same answers, the
// host's included: an answer to a block that is
// not on it is dropped. A block with properties.hide is never on it; only the host may
// answer it, in Response.HostAnswers, and rules read that answer as any other.
//
// In the data of a rule a choice is its id, a text of the respondent's own is
// {"other": "..."}, several choices are an array, a matrix is an object of column ids by
// row id, and a date with a time is in UTC. All else is what is stored. A path such as
// answers.a.b is tried as the block with the id a.b before it is the part b of the block a.
// Comparisons by <, <=, > and >= with an unanswered question are false, and a sum with one
// is not a number: give it a default, {"var": ["answers.age", 0]}.
//
// A variable takes a finite number, or a text of at most 10,000 characters; anything else
// leaves it as it is. The variables that rules set are kept with the response, as answers
// of the type "variable", and sent to webhooks.
//
// Logic with an unknown operator, a jump backward or to no block, and a variable that the
// definition does not have are ignored and refuse no response: [Service.Warnings] finds
// them. All rules of a form together take at most 100,000 steps for one response, about
// 2 ms; a form with 20 rules takes some hundred. A response that would take more is
// refused with an [*Error].
//
// Five forms are among the examples: one skips a section, one has a quota question, one
// counts a score for two endings, one shows the rest of an address, and one ends early.
package formsvc
