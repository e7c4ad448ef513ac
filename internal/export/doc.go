// Package export writes the submissions of a form as CSV or NDJSON. It reads them from the storage page
// by page, and holds only one page in memory.
package export
