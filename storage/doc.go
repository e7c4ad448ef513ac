// Package storage is the contract between formsvc and whatever keeps its data.
//
// It holds the records, the role interfaces that make up [Storage], and the errors that a
// store answers with. It has no behaviour of its own and imports the standard library only.
// [github.com/formsvc/formsvc/storage/memory] and
// [github.com/formsvc/formsvc/storage/postgres] implement it.
//
// A host may bring a storage of its own. It embeds [Unimplemented], which answers for every
// method that is not written yet or that a later version adds, and proves the rest with
// [github.com/formsvc/formsvc/storage/storagetest]. examples/storage wraps another
// storage; [github.com/formsvc/formsvc/storage/memory] is a whole one to read.
//
// # Rules for every method
//
//   - One method is one atomic effect: when it returns an error other than
//     [ErrOutcomeUnknown] or [ErrUnavailable], nothing has changed; when it
//     returns nil, everything it describes has.
//   - Every method is safe for concurrent use, by any number of processes when
//     the store is shared by them.
//   - A context that is already cancelled makes the call fail with the context's
//     error and leaves the data as it was.
//   - Values that go in or come out are the caller's own: a store keeps no slice,
//     map or pointer that it was given, and hands out none that it keeps. The
//     sections of a [Definition] that come out are read only: a store may hand the
//     same bytes to many callers. They never change, whatever becomes of the form, and
//     neither does the room behind them. The suite finds a store that writes to them, and
//     [github.com/formsvc/formsvc/storage/storagetest.ReadOnly] a caller.
//   - The caller makes ids and times, so every store behaves alike. Times are
//     UTC and kept at least to the microsecond. The store makes fencing tokens
//     and measures leases on a clock of its own.
//   - Text is valid UTF-8 without U+0000, and so is the text of a JSON value; a
//     time lies in the years 1 to 9999. Any other value is [ErrInvalidValue],
//     which comes before all other errors. A read that looks for a record by an
//     invalid text returns ErrNotFound.
//   - Whose data it is, is a parameter ([Actor]). What an actor may not see is
//     ErrNotFound, exactly as if it did not exist.
//   - JSON values come back with the members, the member order and the number
//     literals that they came with. White space between tokens may differ.
//   - A method that can fail in several ways at once says which error it returns:
//     the first of those that it numbers. Unnumbered, ErrNotFound comes first.
//   - A method that would remove or change much makes its whole effect visible
//     at once and leaves the records that nobody can see any more to
//     [Storage.Sweep].
//   - Errors may be wrapped; callers compare with [errors.Is] and [errors.As].
//
// What a store does not know: response shapes, the meaning of settings,
// cursors, revision tokens, retry policy and validation. Those live in the
// packages schema, handler and webhooks.
package storage
