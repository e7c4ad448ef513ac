// Package export writes the submissions of a form as CSV or NDJSON. It holds one page of submissions in memory.
package export
