// Package jsontree reads and edits JSON without decoding it. It imports only the standard library.
//
// [Parse] parses text strictly and with limits into a [Tree], a flat list of values with their byte positions. To
// change the text, collect an [Edit] for each change and apply them all with [ApplyEdits]. Everything else, such as
// number literals and the order of fields, stays the same. [Merge] applies a merge patch (RFC 7396) in the same way.
// [Writer] writes new JSON.
package jsontree
