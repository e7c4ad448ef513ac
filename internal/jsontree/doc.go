// Package jsontree reads and writes JSON without decoding it.
//
// [Parse] reads a text once, strictly and within bounds, into a [Tree]: one flat
// list of values that know where their bytes stand. Whoever changes something
// collects an [Edit] for it and applies them all with one [Splice], so number
// literals, the order of members and everything else stay as they were written.
// [Merge] applies a merge patch of RFC 7396 in the same way, and [Writer] writes
// new JSON.
//
// The package knows nothing of forms and imports the standard library only.
package jsontree
