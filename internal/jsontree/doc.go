// Package jsontree reads and edits JSON without decoding it.
//
// [Parse] reads a text once, strictly and with limits, into a [Tree]. A tree is one flat list of values with the
// positions of their bytes. To change a text, collect an [Edit] for each change and apply all of them with one
// [Splice]. Number literals, the order of fields and everything else stay as they were. [Merge] applies a merge patch
// (RFC 7396) in the same way, and [Writer] writes new JSON.
//
// The package does not depend on forms and imports only the standard library.
package jsontree
