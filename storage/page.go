package storage

import "time"

// Position is a position in a list that is ordered newest first by (Time, ID). Each list defines which time it uses.
type Position struct {
	Time time.Time
	ID   ID
}

// Page selects up to Limit records after the position After, in newest-first order. If After is nil, the page starts at
// the newest record. If Limit is below 1, a store returns no records. A position remains valid when records are added
// or removed, even if the record at that position is removed.
type Page struct {
	After *Position
	Limit int
}
