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
	// Stay is how long a request keeps a quick place, and the least time after which it
	// hangs. Quick ÷ Stay is the number of requests that may begin to hang within a second
	// and delay nobody.
	Stay time.Duration
	// Moment is how long a quick request takes at most.
	Moment time.Duration
	// Successes is how many of them have to be quick after one that was not.
	Successes int
	// Unrecorded bounds the requests of the quick pool that are under way, or ended and
	// are not recorded: a killed process repeats them, and as many as Second of the other
	// pool.
	Unrecorded int
	// Ahead bounds the deliveries that wait for the quick pool.
	Ahead int
	// AheadFor is how long the deliveries that wait for a webhook keep it busy.
	AheadFor time.Duration
	// Patience is how long a delivery waits before it is given back. What waits is
	// neither stopped by the deletion of its webhook nor signed with a new secret.
	Patience time.Duration
	// Rows bounds a write, and ClaimBytes the bodies that one claim brings for each pool.
	Rows, ClaimBytes int
	// PoolBytes bounds the bodies that each of the pools holds.
	PoolBytes int
	// Gather is how long results wait for others at most, unless a write is under way or has
	// failed, and the least time from claim to claim.
	Gather time.Duration
	// Lease is how long a claim holds, Timeout how long a request takes at most.
	Lease, Timeout time.Duration
}

// doubtful bounds the requests to webhooks that are new or failed last.
func (n Numbers) doubtful() int { return max(1, n.Second/2) }

// Default returns the numbers for a given size of the quick pool and of the second
// pool, a number of requests to one webhook, and a longest time of a request. Those
// were measured with 64, 1,024, 4 and 15 s.
func Default(quick, second, perWebhook int, timeout time.Duration) Numbers {
	return Numbers{
		Quick: quick, Second: second, PerWebhook: perWebhook,
		// 64 ÷ 50 ms: 1,280 requests may begin to hang in a second. In the simulation a
		// thousand that do so at the same instant make 5 % of the healthy events late
		// with 100 ms, and none with 50. Receivers that take longer than this, but not
		// than a moment, lose nothing by moving over.
		Stay: 50 * time.Millisecond,
		// With 100 ms, a process that had to wait for a processor (ten busy loops on two)
		// took all webhooks for slow. When 1,000 of them began to hang, those had the
		// places of the healthy ones, and nearly all healthy events were late; with 500 ms
		// none was. A quick request is held to 50 ms in its place all the same.
		Moment: 500 * time.Millisecond,
		// A webhook that is slow once in fifteen requests stays in the second pool for
		// half of the time, and one that alternates for all of it.
		Successes: 8,
		// What is promised: a process that is killed repeats at most 8 × InFlight. A write
		// begins when a quarter of these have come since the last one began, so that requests
		// go on while it lasts. Of 20,000 deliveries to 100 webhooks, writes that begin every
		// 10 ms leave no room for requests during a quarter of the time, and these during an
		// eighth.
		Unrecorded: 8 * quick,
		// The quick pool sends as many in 16 × Stay, which is within Patience, while requests
		// that hang find a place in the second pool. A claim has room for at least half of
		// this, so that each webhook's turn, which costs PostgreSQL about as much as a
		// delivery, brings several. Of 20,000 deliveries to 100 webhooks it works 33 µs for
		// each, and 40 with 8 × Quick and claims for whatever there is room for.
		Ahead: 16 * quick,
		// A claim on PostgreSQL takes 10 to 40 ms. With less, honest receivers of 300 ms
		// get 0.7 of what four requests at once can do.
		AheadFor: 50 * time.Millisecond,
		// The quick pool sends all that may wait in 0.8 s (see Ahead). Not longer: until
		// then a change of the webhook has no effect on what waits.
		Patience: time.Second,
		// PostgreSQL settles a hundred results in 10 to 30 ms, so that a write ends well
		// within its 10 s. With the usual bodies of a kilobyte the bounds in bytes never
		// count; with the largest, of a megabyte, a process holds 128 MB of them.
		Rows: 1000, ClaimBytes: 8 << 20, PoolBytes: 64 << 20,
		// At most a hundred claims a second, whatever a claim brought, and until a stop a
		// hundred writes that are not of many results. With 16 clients that submit all the
		// time, writes that begin at once cost PostgreSQL 392 µs a response in place of 117,
		// and 2,080 a second are taken in place of 5,605; with 25 or 50 ms it was slower, too.
		Gather: 10 * time.Millisecond,
		// A request begins at most Lease/2 after its claim, which leaves its Timeout and
		// 15 s in which its result can be written. A write has 10 s.
		Lease: 2*timeout + 30*time.Second, Timeout: timeout,
	}
}
