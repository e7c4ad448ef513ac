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
	// Lease is how long a claim holds, Timeout how long a request takes at most. BeginWithin
	// is how long after its claim a request may begin.
	Lease, Timeout, BeginWithin time.Duration

	// NameQuick is how many quick places a host name has while another one waits, and NameAlone
	// while none does. NameAhead bounds its deliveries that wait for the quick pool or are
	// under way there, NameSecond those of the second pool. A name that has no room for
	// NameLeast of NameAhead or NameSecond is asked nothing for.
	NameQuick, NameAlone, NameAhead, NameSecond, NameLeast int
	// Begin is how many requests begin in the second pool; the rest is for those that move
	// over. Doubtful bounds those to webhooks that are new or failed last.
	Begin, Doubtful int
	// OwnerPart and ClaimPart are parts of what is free in the second pool: one of so many. A
	// workspace gets no more while it has more than the first; a claim asks for the
	// second of slow webhooks, and of new and failing ones.
	OwnerPart, ClaimPart int
	// Bulk is the least room for which there is a claim for the quick pool, and the room that
	// hand-overs leave to claims. Write is how many results of the quick pool are written at once.
	Bulk, Write int
	// A request hangs after HangsAfter times the usual time of its webhook. One part of Smooth
	// of the usual time is the last one.
	HangsAfter, Smooth int
	// A process looks into the queue though nobody called, after PollLeast to PollMost. The
	// wait after a fault of the store doubles from BackoffFirst to BackoffMost. An idle webhook
	// stays known for KnownFor, so that new deliveries are handed over without a claim.
	PollLeast, PollMost, BackoffFirst, BackoffMost, KnownFor time.Duration
}

// Default returns the numbers for a given size of the quick pool and of the second
// pool, a number of requests to one webhook, and a longest time of a request. Those
// were measured with 64, 4,096, 4 and 15 s. With a second pool of 1,024, 1,088 destinations
// that hang at once keep all quick places, and everybody else is late for 10 s.
//
// Behind a reason stands what measured it: (mutants) is the simulation, make mutants;
// (outage) make bench-outage; (drain) make bench-river, and go run -C internal/lab/bench
// ./deliveries, which sends 20,000 deliveries to 100 webhooks; (submit) make bench-submit and
// make bench-hotpaths. Without one, a number follows from others or from a promise.
func Default(quick, second, perWebhook int, timeout time.Duration) Numbers {
	return Numbers{
		Quick: quick, Second: second, PerWebhook: perWebhook,
		// 64 ÷ 50 ms: 1,280 requests may begin to hang in a second. In the simulation a
		// thousand that do so at the same instant make 5 % of the healthy events late
		// with 100 ms, and none with 50 (mutants). Receivers that take longer than this, but not
		// than a moment, lose nothing by moving over.
		Stay: 50 * time.Millisecond,
		// With 100 ms, a process that had to wait for a processor (ten busy loops on two)
		// took all webhooks for slow. When 1,000 of them began to hang, those had the
		// places of the healthy ones, and nearly all healthy events were late; with 500 ms
		// none was (outage). A quick request is held to 50 ms in its place all the same.
		Moment: 500 * time.Millisecond,
		// A webhook that is slow once in fifteen requests stays in the second pool for
		// half of the time, and one that alternates for all of it (mutants).
		Successes: 8,
		// What is promised: a process that is killed repeats at most 8 × InFlight. A write
		// begins when a quarter of these have come since the last one began, so that requests
		// go on while it lasts. Of 20,000 deliveries to 100 webhooks, writes that begin every
		// 10 ms leave no room for requests during a quarter of the time, and these during an
		// eighth (drain).
		Unrecorded: 8 * quick,
		// The quick pool sends as many in 16 × Stay, which is within Patience, while requests
		// that hang find a place in the second pool. A claim has room for at least half of
		// this, so that each webhook's turn, which costs PostgreSQL about as much as a
		// delivery, brings several. Of 20,000 deliveries to 100 webhooks it works 33 µs for
		// each, and 40 with 8 × Quick and claims for whatever there is room for (drain).
		Ahead: 16 * quick,
		// A claim on PostgreSQL takes 10 to 40 ms. With less, honest receivers of 300 ms
		// get 0.7 of what four requests at once can do (mutants).
		AheadFor: 50 * time.Millisecond,
		// The quick pool sends all that may wait in 0.8 s (see Ahead). Not longer: until
		// then a change of the webhook has no effect on what waits.
		Patience: time.Second,
		// PostgreSQL settles a hundred results in 10 to 30 ms (drain), so that a write ends well
		// within its 10 s. With the usual bodies of a kilobyte the bounds in bytes never
		// count; with the largest, of a megabyte, a process holds 128 MB of them.
		Rows: 1000, ClaimBytes: 8 << 20, PoolBytes: 64 << 20,
		// At most a hundred claims a second, whatever a claim brought, and until a stop a
		// hundred writes that are not of many results. With 16 clients that submit all the
		// time, writes that begin at once cost PostgreSQL 392 µs a response in place of 117,
		// and 2,080 a second are taken in place of 5,605; with 25 or 50 ms it was slower, too
		// (submit).
		Gather: 10 * time.Millisecond,
		// A request begins at most half of Lease after its claim, which leaves its Timeout and
		// 15 s in which its result can be written. A write has 10 s.
		Lease: 2*timeout + 30*time.Second, Timeout: timeout, BeginWithin: timeout + 15*time.Second,
		// With a quarter of the places four host names are served side by side, and one that
		// hangs leaves three quarters to the others. A name that is alone has three quarters,
		// so that a second name that comes finds places at once. With three quarters of what
		// waits, 1,500 or 3,000 webhooks of one name that hang make 23 to 49 % of the healthy events
		// late (mutants).
		NameQuick: max(1, quick/4), NameAlone: max(1, quick*3/4), NameAhead: 8 * quick,
		// The requests of a name may hang for the whole Timeout, and those of the other names
		// need places meanwhile (mutants). Asked for less than an eighth, a store would read the turns of a
		// name's webhooks in place of others'.
		NameSecond: max(1, second/2), NameLeast: 8,
		// A quarter: 1,024 requests to quick webhooks may hang at once though the others use all
		// that they may. A quarter is for slow ones that work: 1,000 failing ones beside healthy
		// webhooks that are slow once in fifteen requests make 57 % late without it (mutants).
		Begin: max(1, second*3/4), Doubtful: max(1, second/2),
		// With a half one owner gets a third to two thirds of the places, and of n owners who want
		// all of them each gets about one part of n + 1, as much as stays free. Two quarters in a
		// claim leave half to the next one, when it is all of owners who had nothing before (mutants).
		OwnerPart: 2, ClaimPart: 4,
		Bulk: 8 * quick, Write: 2 * quick, // see Ahead and Unrecorded
		// A request that takes twice as long as usual is no accident any more. A quarter: one
		// that is slow by chance changes little, and after eight the old time counts for a tenth
		// (mutants).
		HangsAfter: 2, Smooth: 4,
		// Four to ten looks a second that find nothing cost little (drain), and a delivery is at most a
		// quarter of a second late. The spread keeps processes apart.
		PollLeast: 100 * time.Millisecond, PollMost: 250 * time.Millisecond,
		// A fault that ends immediately costs a tenth of a second. A store that is up for half a
		// second at a time is tried in each of these times, with fewer calls than idle polls make.
		BackoffFirst: 100 * time.Millisecond, BackoffMost: 400 * time.Millisecond,
		// Whenever a claim is due, all that are known are looked at, also when it turns out
		// that there is no room.
		KnownFor: time.Minute,
	}
}
