// Package storage defines the interface between formsvc and its storage. It defines the records, the interfaces that
// make up [Storage], and the errors that a store returns. It contains no implementation and imports only the standard
// library. [github.com/formsvc/formsvc/storage/memory] and [github.com/formsvc/formsvc/storage/postgres] implement it.
//
// A host can provide its own store. The store must embed [Unimplemented], which returns an error for every missing
// method, including methods added in later versions. Test the store with
// [github.com/formsvc/formsvc/storage/storagetest]. examples/storage wraps another store, and
// [github.com/formsvc/formsvc/storage/memory] is a complete implementation that you can use as a model.
//
// # Rules for every method
//
//   - Each method makes one atomic change. If it returns nil, it has made the whole change. If it returns an error
//     other than [ErrOutcomeUnknown] or [ErrUnavailable], nothing has changed.
//   - Every method is safe for concurrent use, even by several processes that share the store.
//   - If the context is already canceled, the call returns the context's error and changes nothing.
//   - Arguments and results belong to the caller. A store retains no slice, map or pointer from an argument, and
//     returns none that it retains. The sections of a returned [Definition] are an exception: they are read only,
//     because a store can return the same bytes to many callers. A change to the form does not modify these bytes or
//     their unused capacity. The test suite detects stores that modify them, and
//     [github.com/formsvc/formsvc/storage/storagetest.ReadOnly] detects callers that modify them.
//   - The caller creates IDs and times, so that all stores behave the same way. Times are UTC and are stored with at
//     least microsecond precision. The store creates fencing tokens and measures leases with its own clock.
//   - Text, including text in JSON values, is valid UTF-8 without U+0000. Times are in the years 1 to 9999. If a value
//     is invalid, a method returns [ErrInvalidValue], which takes precedence over all other errors. A lookup by invalid
//     text returns ErrNotFound.
//   - If an [Actor] cannot access a record, the method returns ErrNotFound, as if the record did not exist.
//   - A store preserves the fields, the field order and the number literals of JSON values. Whitespace between tokens
//     can change.
//   - If several errors apply, a method returns the first one in its numbered list. If the method's comment has no such
//     list, ErrNotFound takes precedence.
//   - A method that changes or removes many records makes the whole effect visible immediately. It can leave
//     inaccessible records for [Storage.Sweep] to remove.
//   - Errors can be wrapped. Callers inspect them with [errors.Is] and [errors.As].
//
// A store is not responsible for response formats, the meaning of settings, cursors, revision tokens, the retry policy
// or validation. The packages schema, handler and webhooks implement these.
package storage
