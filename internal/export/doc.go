// Package export writes a form's submissions as CSV or NDJSON. It holds one page of submissions in memory at a time.
package export
