package scheduler

import "time"

// Config are the numbers that can be chosen on their own. [DefaultConfig] says why each has its
// value. All others follow from them: see derive.
type Config struct {
	// Fast and Second are the numbers of requests that the quick pool and the second
	// pool hold.
	Fast, Slow int
	// PerWebhook is how many requests a webhook in good standing has in flight.
	PerWebhook int
	// Timeout is how long a request takes at most.
	Timeout time.Duration
	// FastSlotTime is how long a request keeps a quick place, and the least time after which it
	// hangs. Quick ÷ Stay is the number of requests that can begin to hang within a second
	// and delay no one.
	FastSlotTime time.Duration
	// FastThreshold is how long a quick request takes at most.
	FastThreshold time.Duration
	// SuccessesUntilFast is how many of them have to be quick after one that was not.
	SuccessesUntilFast int
	// MaxWait is how long a delivery waits before it is given back. A waiting delivery is
	// neither stopped by the deletion of its webhook nor signed with a new secret.
	MaxWait time.Duration
	// BatchDelay is how long results wait for others at most, unless a write is in progress or
	// has failed, and the least time from claim to claim.
	BatchDelay time.Duration
	// PollInterval is how long a process waits at most before it looks into the queue although
	// no one called.
	PollInterval time.Duration
	// MaxBatch bounds a write.
	MaxBatch int
	// PoolBytes bounds the bodies that each of the pools holds.
	PoolBytes int
}

// DefaultConfig returns the numbers for a given size of the quick pool and of the second
// pool, a number of requests to one webhook, and a longest time of a request. These four
// were measured with 64, 4,096, 4 and 15 s. With a second pool of 1,024, 1,088 destinations
// that hang at the same time keep all quick places, and all others are late for 10 s.
//
// Behind a reason is its measurement: (mutants) is the simulation, make mutants;
// (outage) make bench-outage; (drain) make bench-river, and go run -C internal/lab/bench
// ./deliveries, which sends 20,000 deliveries to 100 webhooks; (submit) make bench-submit and
// make bench-hotpaths.
func DefaultConfig(fast, slow, perWebhook int, timeout time.Duration) Config {
	return Config{
		Fast: fast, Slow: slow, PerWebhook: perWebhook, Timeout: timeout,
		// 64 ÷ 50 ms: 1,280 requests may begin to hang in a second. In the simulation a
		// thousand that do so at the same instant make 5 % of the healthy events late
		// with 100 ms, and none with 50 (mutants). Receivers that take longer than this, but not
		// than a moment, lose nothing by moving over.
		FastSlotTime: 50 * time.Millisecond,
		// With 100 ms, a process that had to wait for a processor (ten busy loops on two)
		// took all webhooks for slow. When 1,000 of them began to hang, those had the
		// places of the healthy ones, and nearly all healthy events were late; with 500 ms
		// none was (outage). A quick request still keeps its place for only 50 ms.
		FastThreshold: 500 * time.Millisecond,
		// A webhook that is slow once in fifteen requests stays in the second pool for
		// half of the time, and one that alternates for all of it (mutants).
		SuccessesUntilFast: 8,
		// A change of the webhook has no effect on a waiting delivery for so long. With less,
		// less may wait, and each claim brings less (see ahead).
		MaxWait: time.Second,
		// At most a hundred claims a second, whatever a claim brought, and until a stop a
		// hundred writes that are not of many results. With 16 clients that submit all the
		// time, writes that begin immediately cost PostgreSQL 392 µs a response in place of 117,
		// and 2,080 a second are taken in place of 5,605; with 25 or 50 ms it was slower, too
		// (submit).
		BatchDelay: 10 * time.Millisecond,
		// A delivery that another process stored is at most a quarter of a second late. Four
		// to ten looks a second that find nothing cost little (drain).
		PollInterval: 250 * time.Millisecond,
		// PostgreSQL settles a hundred results in 10 to 30 ms (drain), so that a write ends well
		// within its 10 s.
		MaxBatch: 1000,
		// With the usual bodies of a kilobyte this never counts; with the largest, of a
		// megabyte, a process holds 128 MB.
		PoolBytes: 64 << 20,
	}
}

// derivedConfig are [Config] with all numbers that follow from them.
type derivedConfig struct {
	Config

	fast, slow poolLimits
	// doubtful bounds the requests of the second pool to webhooks that are new or failed last.
	maxNewOrFailing int
	// maxPrefetch bounds the deliveries that wait for the quick pool.
	maxPrefetch int
	// minClaim is the least room for which there is a claim for the quick pool, and the room that
	// hand-overs leave to claims.
	minClaim int
	// write is how many results of the quick pool are written without waiting for others.
	writeThreshold int
	// maxClaimBytes bounds the bodies that one claim brings for each pool.
	maxClaimBytes int
	// prefetchTime is how long the deliveries that wait for a webhook keep it busy.
	prefetchTime time.Duration
	// lease is how long a claim holds, and startWithin how long after it a request may begin.
	lease, startWithin time.Duration
	// minPollInterval is how long a process waits at least before it looks into the queue although
	// no one called.
	minPollInterval time.Duration
	// The wait after a fault of the store doubles from minBackoff to maxBackoff.
	minBackoff, maxBackoff time.Duration
	// A request hangs after hangFactor times the usual time of its webhook. One part of smooth
	// of the usual time is the last one.
	hangFactor, smoothing int
	// workspaceDivisor and claimDivisor are parts of what is free in the second pool: one of so many. A
	// workspace gets no more while it has more than the first; a claim asks for the
	// second of slow webhooks, and of new and failing ones.
	workspaceDivisor, claimDivisor int
	// idleLifetime is how long an idle webhook stays known, so that new deliveries are handed over
	// without a claim.
	idleLifetime time.Duration
}

// derive computes what follows from n. Shares are halves and quarters, whatever they are shares of,
// unless a reason says why not: the simulation needs no finer ones.
func (n Config) derive() derivedConfig {
	d := derivedConfig{Config: n}

	// The quick pool sends as many in four fifths of Patience while requests that hang find a
	// place in the second pool: 16 × Quick. Of 20,000 deliveries to 100 webhooks PostgreSQL
	// works 33 µs for each, and 40 with 8 × Quick and claims for whatever there is room for (drain).
	d.maxPrefetch = n.Fast * int(n.MaxWait*4/5/n.FastSlotTime)
	// A claim has room for at least half of this, so that each webhook's turn, which costs
	// PostgreSQL about as much as a delivery, brings several.
	d.minClaim = d.maxPrefetch / 2

	// 8 × Quick is what is promised: a process that is killed repeats at most so many, and as
	// many as Second of the other pool.
	//
	// With a quarter of the places four host names are served side by side, and one that
	// hangs leaves three quarters to the others. A name that is alone has three quarters,
	// so that a second name that comes finds places immediately. With three quarters of what
	// waits, 1,500 or 3,000 webhooks of one name that hang make 23 to 49 % of the healthy events
	// late (mutants).
	d.fast = poolLimits{maxStarted: n.Fast, maxHeld: 8 * n.Fast, hostShare: max(1, n.Fast/4), maxPerHost: max(1, n.Fast*3/4), maxHostDeliveries: d.maxPrefetch / 2}
	// A write begins when a quarter of these have come since the last one began, so that
	// requests continue while it lasts. Of 20,000 deliveries to 100 webhooks, writes that begin
	// every 10 ms leave no room for requests during a quarter of the time, and these during an
	// eighth (drain).
	d.writeThreshold = d.fast.maxHeld / 4

	// Three quarters begin there: 1,024 requests to quick webhooks may hang at the same time
	// though the others use all that they may. The requests of a name may hang for the whole
	// Timeout, and those of the other names need places in the meantime (mutants).
	half := max(1, n.Slow/2)
	d.slow = poolLimits{maxStarted: max(1, n.Slow*3/4), maxHeld: n.Slow, hostShare: half, maxPerHost: half, maxHostDeliveries: half}
	// A quarter is for slow ones that work: 1,000 failing ones beside healthy webhooks that
	// are slow once in fifteen requests make 57 % late without it (mutants).
	d.maxNewOrFailing = half

	// Asked for less than an eighth, a store would read the turns of a name's webhooks in place of
	// others'.
	d.fast.minHostClaim, d.slow.minHostClaim = d.fast.maxHostDeliveries/8, d.slow.maxHostDeliveries/8

	// A claim begins while there is any room, so that a pool holds an eighth more at most.
	d.maxClaimBytes = n.PoolBytes / 8
	// A claim on PostgreSQL takes 10 to 40 ms. With less, honest receivers of 300 ms
	// get 0.7 of what four requests at the same time can do (mutants).
	d.prefetchTime = n.FastSlotTime

	// A request begins at most half of the lease after its claim, which leaves its Timeout and
	// 15 s in which its result can be written. A write has 10 s.
	d.startWithin = n.Timeout + 15*time.Second
	d.lease = 2 * d.startWithin
	// Whenever a claim is due, all that are known are looked at, also when it turns out
	// that there is no room. A minute by default.
	d.idleLifetime = d.lease

	// A request that takes twice as long as usual is no accident any more. A quarter: one
	// that is slow by chance changes little, and after eight the old time counts for a tenth
	// (mutants).
	d.hangFactor, d.smoothing = 2, 4
	// With a half one owner gets a third to two thirds of the places, and of n owners who want
	// all of them each gets about one part of n + 1, as much as stays free. Two quarters in a
	// claim leave half to the next one, when it is all of owners who had nothing before (mutants).
	d.workspaceDivisor, d.claimDivisor = 2, 4

	// The spread keeps processes apart.
	d.minPollInterval = n.PollInterval * 2 / 5
	// A fault that ends immediately costs as little as a look: a tenth of a second. A store
	// that is up for half a second at a time is tried in each of these times, with fewer calls
	// than idle polls make.
	d.minBackoff = d.minPollInterval
	d.maxBackoff = 4 * d.minBackoff
	return d
}
