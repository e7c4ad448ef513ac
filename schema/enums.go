package schema

// Period is the period of metrics in the API. Its days are in UTC.
type Period string

// These are the periods. All except PeriodYesterday end now.
const (
	PeriodToday     Period = "today"
	PeriodYesterday Period = "yesterday"
	Period24h       Period = "24h" // the last 24 hours
	Period7d        Period = "7d"  // today and the previous 6 days
	Period30d       Period = "30d" // today and the previous 29 days
	Period3m        Period = "3m"  // since the same day 3 months ago
	Period6m        Period = "6m"
	Period12m       Period = "12m"
	PeriodAll       Period = "all" // includes lifetime counters that the host has set
)

// ExportFormat is the file format of an export.
type ExportFormat string

// These are the formats of exports.
const (
	CSV    ExportFormat = "csv"
	NDJSON ExportFormat = "ndjson"
)
