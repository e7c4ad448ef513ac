// Package export writes the submissions of a form as CSV or NDJSON. It reads the storage page by page, and only
// one page is in memory.
package export
