// Package storage defines the interface between formsvc and its storage. It contains the records, the role interfaces
// that form [Storage], and the errors that a store returns. It has no implementation and imports only the standard
// library. [github.com/formsvc/formsvc/storage/memory] and [github.com/formsvc/formsvc/storage/postgres] implement it.
//
// A host can use its own storage. The storage embeds [Unimplemented], which returns an error for every missing method,
// including methods of later versions. Test it with [github.com/formsvc/formsvc/storage/storagetest]. examples/storage
// wraps another storage, and [github.com/formsvc/formsvc/storage/memory] is a complete implementation that you can use
// as a model.
//
// # Rules for every method
//
//   - Each method makes one atomic change. If it returns nil, it has made the whole change. If it returns an error
//     other than [ErrOutcomeUnknown] or [ErrUnavailable], nothing has changed.
//   - Every method is safe for concurrent use, also by several processes if they share the store.
//   - If the context is already canceled, the call returns the context's error and changes nothing.
//   - Arguments and results belong to the caller. A store retains no slice, map or pointer of an argument, and returns
//     none that it retains. The sections of a returned [Definition] are an exception: they are read only, because a
//     store can return the same bytes to many callers. A change of the form does not modify them or their unused
//     capacity. The suite detects a store that modifies them, and
//     [github.com/formsvc/formsvc/storage/storagetest.ReadOnly] detects a caller.
//   - The caller creates IDs and times, so that every store behaves alike. Times are UTC and are stored with at least
//     microsecond precision. The store creates fencing tokens and measures leases with its own clock.
//   - Text is valid UTF-8 without U+0000, also in JSON values. Times are in the years 1 to 9999. For other values, a
//     method returns [ErrInvalidValue] before all other errors. A lookup by an invalid text returns ErrNotFound.
//   - If an [Actor] cannot access a record, the method returns ErrNotFound, as if the record did not exist.
//   - JSON values retain their fields, their order of fields and their number literals. Whitespace between tokens may
//     change.
//   - If several errors apply, a method returns the first one in its numbered list. Without such a list, ErrNotFound
//     comes first.
//   - A method that changes or removes many records makes the whole effect visible immediately. It leaves records that
//     are no longer accessible to [Storage.Sweep].
//   - Errors may be wrapped. Callers compare them with [errors.Is] and [errors.As].
//
// A store does not implement response formats, the meaning of settings, cursors, revision tokens, the retry policy or
// validation. The packages schema, handler and webhooks implement them.
package storage
