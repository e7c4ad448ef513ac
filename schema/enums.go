package schema

// Period is a time that metrics are of, as the API takes it. Days are those of UTC.
type Period string

// The periods. All but yesterday end now.
const (
	PeriodToday     Period = "today"
	PeriodYesterday Period = "yesterday"
	Period24h       Period = "24h" // 24 hours
	Period7d        Period = "7d"  // today and the 6 days before
	Period30d       Period = "30d" // today and the 29 days before
	Period3m        Period = "3m"  // since the same day 3 months ago
	Period6m        Period = "6m"
	Period12m       Period = "12m"
	PeriodAll       Period = "all" // with lifetime counters that the host has set
)

// ExportFormat is how responses are exported.
type ExportFormat string

// The formats of exports.
const (
	CSV    ExportFormat = "csv"
	NDJSON ExportFormat = "ndjson"
)
