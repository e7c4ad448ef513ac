package storage

import "time"

// Position is a place in a list that is ordered newest first by (Time, ID).
// Which of a record's times counts is told by the method that lists it.
type Position struct {
	Time time.Time
	ID   ID
}

// Page asks for at most Limit records that come after After in newest-first order; a
// nil After asks for the newest. Limit is at least 1; a store returns no record for
// less. A position names a place, not a record. It stays valid when records before or
// after it come and go, also when its own record is gone.
type Page struct {
	After *Position
	Limit int
}
