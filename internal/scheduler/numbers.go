package scheduler

import "time"

// Numbers holds every tuning parameter. [Default] says why each has its value.
type Numbers struct {
	// Quick is how many requests the quick pool holds.
	Quick int
	// Second is how many requests the second pool holds.
	Second int
	// PerWebhook is how many requests a webhook in good standing has under way.
	PerWebhook int
	// Stay is how long a request keeps a quick place. Quick ÷ Stay is the number of
	// quick webhooks that may begin to hang within a second and delay nobody.
	Stay time.Duration
	// Moment is how long a quick request takes at most.
	Moment time.Duration
	// Successes is how many of them have to be quick after one that was not.
	Successes int
	// Ahead bounds the deliveries of the quick pool that were claimed and wait, and
	// also those that are under way there or ended there and are not recorded: a killed
	// process repeats them, and as many as Second of the other pool.
	Ahead int
	// AheadFor is how long the deliveries that wait for a webhook keep it busy.
	AheadFor time.Duration
	// Patience is how long a delivery waits before it is given back. What waits is
	// neither stopped by the deletion of its webhook nor signed with a new secret.
	Patience time.Duration
	// Rows bounds a write, and ClaimBytes the bodies that one claim brings.
	Rows, ClaimBytes int
	// PoolBytes bounds the bodies that each of the pools holds.
	PoolBytes int
	// Gather is how long results wait for others, and the least time from claim to
	// claim.
	Gather time.Duration
	// Lease is how long a claim holds, Timeout how long a request takes at most.
	Lease, Timeout time.Duration
}

// Default returns the numbers for so many requests in the quick pool, in the second
// pool and to one webhook, and for requests that take so long at most. Those were
// measured with 64, 1,024, 4 and 15 s.
func Default(quick, second, perWebhook int, timeout time.Duration) Numbers {
	return Numbers{
		Quick: quick, Second: second, PerWebhook: perWebhook,
		// 64 ÷ 50 ms: 1,280 webhooks may begin to hang in a second. In the simulation a
		// thousand that do so at the same instant make 5 % of the healthy events late
		// with 100 ms, and none with 50. Receivers that take longer than this, but not
		// than a moment, lose nothing by moving over.
		Stay: 50 * time.Millisecond,
		// With 60 ms, healthy receivers on a busy machine of two processors counted as
		// slow, and were late when the second pool was full.
		Moment: 100 * time.Millisecond,
		// A webhook that is slow once in fifteen requests stays in the second pool for
		// half of the time, and one that alternates for all of it.
		Successes: 8,
		// At its slowest the quick pool sends 8 × Quick deliveries in 8 × Moment, which is
		// within Patience. With twice as many, backlogs shrink less evenly.
		Ahead: 8 * quick,
		// A claim on PostgreSQL takes 10 to 40 ms. With less, honest receivers of 300 ms
		// get 0.7 of what four requests at once can do.
		AheadFor: 50 * time.Millisecond,
		// The quick pool at its slowest sends all that may wait in 0.8 s (see Ahead). Not
		// longer: until then a change of the webhook has no effect on what waits.
		Patience: time.Second,
		// PostgreSQL settles a hundred results in 10 to 30 ms, so that a write ends well
		// within its 10 s. With the usual bodies of a kilobyte the bounds in bytes never
		// count; with the largest, of a megabyte, a process holds 128 MB of them.
		Rows: 1000, ClaimBytes: 8 << 20, PoolBytes: 64 << 20,
		// At most a hundred claims and a hundred writes a second until a stop, whatever
		// a claim brought. One write for each result costs PostgreSQL half as much again
		// as gathering.
		Gather: 10 * time.Millisecond,
		// A request begins at most Lease/2 after its claim, which leaves its Timeout and
		// 15 s in which its result can be written. A write has 10 s.
		Lease: 2*timeout + 30*time.Second, Timeout: timeout,
	}
}
