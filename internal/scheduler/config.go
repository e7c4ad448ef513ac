package scheduler

import "time"

// Config holds the settings that do not depend on other settings. [DefaultConfig] explains their values.
type Config struct {
	Fast, Slow int           // slots in the fast and the slow pool
	PerWebhook int           // maximum in-flight requests of a healthy webhook
	Timeout    time.Duration // maximum duration of a request
	// FastSlotTime is how long a request can use a fast slot. A request never counts as hanging before this time. Fast ÷
	// FastSlotTime requests per second can start to hang without delaying other requests.
	FastSlotTime       time.Duration
	FastThreshold      time.Duration // maximum duration of a fast request
	SuccessesUntilFast int           // fast successes that a webhook needs after a slow one
	// MaxWait is how long a delivery can wait before it is released. Until then, it is sent even if its webhook is
	// deleted, and signed with the old secret if the secret changes.
	MaxWait time.Duration
	// BatchDelay is how long results can wait for a larger batch, unless a write is in progress or has failed. It is also
	// the minimum time between claims.
	BatchDelay   time.Duration
	PollInterval time.Duration // maximum time between claims without events
	MaxBatch     int           // maximum results per write
	PoolBytes    int           // maximum total size of the bodies in each pool
}

// DefaultConfig returns the settings for the given numbers of slots and requests per webhook, and the given timeout.
// They were measured with 64 and 4,096 slots, 4 requests and 15 s. With a slow pool of 1,024 slots, 1,088 destinations
// that hang at the same time use all fast slots and delay other deliveries by 10 s.
//
// The comments on the settings name the source of their figures: (mutants) is the simulation, make mutants; (outage) is
// make bench-outage; (drain) is make bench-river and go run -C internal/lab/bench ./deliveries, which sends 20,000
// deliveries to 100 webhooks; (submit) is make bench-submit and make bench-hotpaths.
func DefaultConfig(fast, slow, perWebhook int, timeout time.Duration) Config {
	return Config{
		Fast: fast, Slow: slow, PerWebhook: perWebhook, Timeout: timeout,
		// 1,280 requests per second can start to hang (64 ÷ 50 ms). If a thousand requests start to hang at the same instant,
		// 100 ms delays 5 % of the healthy events, and 50 ms delays none (mutants). Receivers that take between this time and
		// FastThreshold lose nothing when their requests move to the slow pool.
		FastSlotTime: 50 * time.Millisecond,
		// With 100 ms, a process that was short of CPU (ten busy loops on two processors) classified all webhooks as slow.
		// When 1,000 webhooks then hung, they took the slots of healthy webhooks and delayed nearly all healthy events. With
		// 500 ms, no event was late (outage). A request still uses a fast slot for only 50 ms.
		FastThreshold: 500 * time.Millisecond,
		// A webhook that is slow once in fifteen requests is in the slow pool half of the time. A webhook that is slow in
		// every second request always stays in the slow pool (mutants).
		SuccessesUntilFast: 8,
		// After a change, a webhook can receive outdated deliveries for this long. A smaller value reduces maxPrefetch, so
		// each claim returns fewer deliveries.
		MaxWait: time.Second,
		// This delay allows at most 100 claims and, until Stop, 100 small writes a second. With 16 clients that submit
		// continuously, immediate writes cost PostgreSQL 392 µs per submission instead of 117, and throughput was 2,080
		// submissions a second instead of 5,605. Delays of 25 and 50 ms were also slower (submit).
		BatchDelay: 10 * time.Millisecond,
		// Deliveries that another process stores start up to 250 ms late. Four to ten empty polls a second cost little
		// (drain).
		PollInterval: 250 * time.Millisecond,
		// PostgreSQL records a hundred results in 10 to 30 ms (drain), so a write takes far less than its timeout of 10 s.
		MaxBatch: 1000,
		// A body is usually about a kilobyte. Even with the largest bodies, a megabyte each, a process holds only 128 MB.
		PoolBytes: 64 << 20,
	}
}

type derivedConfig struct {
	Config

	fast, slow             poolLimits
	maxNewOrFailing        int           // maximum slow-pool requests to webhooks that are new or whose last request failed
	maxPrefetch            int           // maximum deliveries that wait for the fast pool
	minClaim               int           // minimum capacity for a fast-pool claim; direct dispatch leaves this capacity to claims
	writeThreshold         int           // number of fast-pool results that starts a write immediately
	maxClaimBytes          int           // maximum total size of the bodies that a claim returns per pool
	prefetchTime           time.Duration // how long a webhook's waiting deliveries keep it busy
	lease, startWithin     time.Duration // duration of a lease, and how long after the claim a request can start
	minPollInterval        time.Duration // minimum time between claims without events
	minBackoff, maxBackoff time.Duration // the wait after a store error doubles from minBackoff to maxBackoff
	// A request counts as hanging if it takes longer than hangFactor times its webhook's usual duration. The last request
	// contributes 1/smoothing to the usual duration.
	hangFactor, smoothing int
	// Both divisors apply to the number of free slots in the slow pool. A workspace that uses more slots than the first
	// quotient gets no more deliveries. A claim requests up to the second quotient for slow webhooks, and again for new
	// and failing ones.
	workspaceDivisor, claimDivisor int
	idleLifetime                   time.Duration // how long an idle webhook stays known; direct dispatch works only for known webhooks
}

// derive computes the values that depend on n. Shares are halves and quarters unless a reason is given, because finer
// shares make no difference in the simulation.
func (n Config) derive() derivedConfig {
	d := derivedConfig{Config: n}

	// The fast pool sends this many deliveries, 16 × Fast, in four fifths of MaxWait even if all requests hang and
	// move to the slow pool. For 20,000 deliveries to 100 webhooks, PostgreSQL then uses 33 µs per delivery. It uses
	// 40 µs with 8 × Fast and claims for any capacity (drain).
	d.maxPrefetch = n.Fast * int(n.MaxWait*4/5/n.FastSlotTime)
	// A claim starts only if it can return at least half of maxPrefetch. Serving a webhook costs PostgreSQL about as much
	// as a delivery, so a claim should return several deliveries per webhook.
	d.minClaim = d.maxPrefetch / 2

	// maxHeld: the documentation promises that a killed process repeats at most 8 × Fast deliveries from the fast pool,
	// and Slow deliveries from the slow pool.
	//
	// hostShare: with a quarter of the slots, four hostnames are served concurrently, and a hanging hostname leaves three
	// quarters to the others. maxPerHost: a single hostname uses three quarters, so that a second hostname finds slots
	// immediately. maxHostDeliveries: if a hostname could use three quarters, 1,500 or 3,000 hanging webhooks on one
	// hostname would delay 23 to 49 % of the healthy events (mutants).
	d.fast = poolLimits{maxStarted: n.Fast, maxHeld: 8 * n.Fast, hostShare: max(1, n.Fast/4), maxPerHost: max(1, n.Fast*3/4), maxHostDeliveries: d.maxPrefetch / 2}
	// A write starts once maxHeld/4 results are pending, so that requests continue during the write. With 20,000
	// deliveries to 100 webhooks, writes every 10 ms block requests for a quarter of the time. Writes at this threshold
	// block them for an eighth of the time (drain).
	d.writeThreshold = d.fast.maxHeld / 4

	// Three quarters of the slow pool are for requests that start in it. So 1,024 requests to fast webhooks can hang at
	// the same time even if all other slots are in use. Requests to a hostname may hang for the whole Timeout, so half of
	// the slots stay free for other hostnames (mutants).
	half := max(1, n.Slow/2)
	d.slow = poolLimits{maxStarted: max(1, n.Slow*3/4), maxHeld: n.Slow, hostShare: half, maxPerHost: half, maxHostDeliveries: half}
	// The last quarter of the slow pool is for slow webhooks that work. Without this quarter, 1,000 failing webhooks delay
	// 57 % of the events for healthy webhooks that are slow once in fifteen requests (mutants).
	d.maxNewOrFailing = half

	// If a hostname with less than an eighth of its capacity left were included, the store would serve its webhooks
	// instead of others.
	d.fast.minHostClaim, d.slow.minHostClaim = d.fast.maxHostDeliveries/8, d.slow.maxHostDeliveries/8

	// A claim can start while a pool has any capacity left, so a pool exceeds PoolBytes by at most an eighth.
	d.maxClaimBytes = n.PoolBytes / 8
	// A claim on PostgreSQL takes 10 to 40 ms. With a smaller prefetchTime, healthy receivers that take 300 ms reach only
	// 70 % of the throughput of four concurrent requests (mutants).
	d.prefetchTime = n.FastSlotTime

	// A request starts in the first half of its lease. The second half is for the Timeout and for recording the result,
	// which gets 15 s. The write itself takes up to 10 s of these.
	d.startWithin = n.Timeout + 15*time.Second
	d.lease = 2 * d.startWithin
	// The lifetime is short, because each claim reads all known webhooks, even without capacity. By default, a lease lasts
	// a minute.
	d.idleLifetime = d.lease

	// Requests rarely take twice the usual duration by chance. With a smoothing of 4, a single slow request changes
	// little, and after eight requests the old duration counts for only a tenth (mutants).
	d.hangFactor, d.smoothing = 2, 4
	// With a workspaceDivisor of 2, a single workspace gets a third to two thirds of the slots. If n workspaces each could
	// fill the pool, each gets about 1/(n + 1) of the slots, and as many stay free. With a claimDivisor of 4, a claim
	// requests two quarters and leaves half of the slots to the next claim (mutants).
	d.workspaceDivisor, d.claimDivisor = 2, 4

	// The interval is random so that several processes do not poll at the same time.
	d.minPollInterval = n.PollInterval * 2 / 5
	// With this wait, calls that fail immediately cost as little as polls every tenth of a second. If a store works for
	// only half a second at a time, each such period contains a call, although there are fewer calls than during idle
	// polling.
	d.minBackoff = d.minPollInterval
	d.maxBackoff = 4 * d.minBackoff
	return d
}
