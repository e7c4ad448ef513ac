// Package export writes the responses to a form as a stream, CSV or NDJSON, from pages
// of the storage. It holds one page at a time.
package export
