package scheduler

import "time"

// Config contains the independent settings. [DefaultConfig] explains the values. derive computes all others.
type Config struct {
	// Fast and Slow are the numbers of slots in the fast and the slow pool.
	Fast, Slow int
	// PerWebhook is the maximum number of in-flight requests of a healthy webhook.
	PerWebhook int
	// Timeout is the maximum time of a request.
	Timeout time.Duration
	// FastSlotTime is how long a request can use a fast slot, and the minimum time after which it hangs. Fast ÷
	// FastSlotTime is the number of requests that can start to hang in a second without delaying others.
	FastSlotTime time.Duration
	// FastThreshold is the maximum time of a fast request.
	FastThreshold time.Duration
	// SuccessesUntilFast is the number of fast successes that a webhook needs after a slow one.
	SuccessesUntilFast int
	// MaxWait is how long a delivery waits before it is released. A waiting delivery is still sent after its webhook
	// was deleted, and with the old secret after a change.
	MaxWait time.Duration
	// BatchDelay is the maximum time for which results wait for others, unless a write is in progress or has failed. It
	// is also the minimum time between claims.
	BatchDelay time.Duration
	// PollInterval is the maximum time between two claims without events.
	PollInterval time.Duration
	// MaxBatch limits the results in a write.
	MaxBatch int
	// PoolBytes limits the total size of the bodies in each pool.
	PoolBytes int
}

// DefaultConfig returns the settings for the given pool sizes, requests per webhook and timeout. They were measured
// with 64, 4,096, 4 and 15 s. With a slow pool of 1,024, if 1,088 destinations hang at the same time, they use all
// fast slots and delay all others by 10 s.
//
// Each reason names its measurement: (mutants) is the simulation, make mutants; (outage) is make bench-outage;
// (drain) is make bench-river and go run -C internal/lab/bench ./deliveries, which sends 20,000 deliveries to 100
// webhooks; (submit) is make bench-submit and make bench-hotpaths.
func DefaultConfig(fast, slow, perWebhook int, timeout time.Duration) Config {
	return Config{
		Fast: fast, Slow: slow, PerWebhook: perWebhook, Timeout: timeout,
		// 64 ÷ 50 ms: 1,280 requests can start to hang in a second. In the simulation, a thousand requests that hang at
		// the same instant delay 5 % of the healthy events with 100 ms, and none with 50 ms (mutants). Receivers between
		// this time and FastThreshold lose nothing when their requests move.
		FastSlotTime: 50 * time.Millisecond,
		// With 100 ms, a process that waited for a processor (ten busy loops on two processors) classified all webhooks
		// as slow. When 1,000 of them started to hang, they used the slots of the healthy webhooks and delayed nearly all
		// healthy events. With 500 ms, no event was late (outage). A request still uses a fast slot for only 50 ms.
		FastThreshold: 500 * time.Millisecond,
		// A webhook that is slow once in fifteen requests is in the slow pool for half of the time. A webhook that
		// alternates is always in it (mutants).
		SuccessesUntilFast: 8,
		// A change of the webhook has no effect on a waiting delivery for this long. A smaller value reduces maxPrefetch,
		// and each claim returns fewer deliveries.
		MaxWait: time.Second,
		// This allows at most 100 claims a second and, until a stop, 100 small writes. With 16 clients that submit
		// continuously, immediate writes cost PostgreSQL 392 µs per submission instead of 117, and the throughput was
		// 2,080 instead of 5,605 a second. 25 and 50 ms were slower, too (submit).
		BatchDelay: 10 * time.Millisecond,
		// A delivery of another process is up to 250 ms late. Four to ten empty polls a second cost little (drain).
		PollInterval: 250 * time.Millisecond,
		// PostgreSQL records a hundred results in 10 to 30 ms (drain), so that a write ends well within its 10 s.
		MaxBatch: 1000,
		// Usual bodies of a kilobyte never reach this limit. With the largest bodies of a megabyte, a process holds 128
		// MB.
		PoolBytes: 64 << 20,
	}
}

// derivedConfig contains the [Config] and all values that derive computes from it.
type derivedConfig struct {
	Config

	fast, slow poolLimits
	// maxNewOrFailing limits the slow-pool requests to webhooks that are new or whose last request failed.
	maxNewOrFailing int
	// maxPrefetch limits the deliveries that wait for the fast pool.
	maxPrefetch int
	// minClaim is the minimum capacity for a claim for the fast pool. Direct dispatch leaves this capacity to claims.
	minClaim int
	// writeThreshold is the number of results of the fast pool that start a write immediately.
	writeThreshold int
	// maxClaimBytes limits the total size of the bodies that a claim returns for each pool.
	maxClaimBytes int
	// prefetchTime is the time for which the waiting deliveries of a webhook keep it busy.
	prefetchTime time.Duration
	// lease is the duration of a lease. A request must start within startWithin of its claim.
	lease, startWithin time.Duration
	// minPollInterval is the minimum time between two claims without events.
	minPollInterval time.Duration
	// The wait after an error of the store doubles from minBackoff to maxBackoff.
	minBackoff, maxBackoff time.Duration
	// A request hangs if it takes longer than hangFactor times the usual time of its webhook. The last request
	// contributes 1/smoothing to the usual time.
	hangFactor, smoothing int
	// workspaceDivisor and claimDivisor divide the number of free slots in the slow pool. A workspace with more than
	// the first quotient gets no more deliveries. A claim requests up to the second quotient of slow webhooks, and of
	// new and failing ones.
	workspaceDivisor, claimDivisor int
	// idleLifetime is how long an idle webhook stays known, so that new deliveries are dispatched without a claim.
	idleLifetime time.Duration
}

// derive computes the values that follow from n. Shares are halves and quarters unless a reason is given, because the
// simulation needs no finer ones.
func (n Config) derive() derivedConfig {
	d := derivedConfig{Config: n}

	// This is the number of deliveries that the fast pool sends in four fifths of MaxWait while hanging requests find
	// slots in the slow pool: 16 × Fast. For 20,000 deliveries to 100 webhooks, PostgreSQL then uses 33 µs per
	// delivery. It uses 40 µs with 8 × Fast and claims for any capacity (drain).
	d.maxPrefetch = n.Fast * int(n.MaxWait*4/5/n.FastSlotTime)
	// A claim returns at least half of this. Serving a webhook costs PostgreSQL about as much as a delivery, and should
	// return several.
	d.minClaim = d.maxPrefetch / 2

	// The documentation promises 8 × Fast: a killed process repeats at most this many deliveries, and Slow of the
	// other pool.
	//
	// With a quarter of the slots, four hostnames are served concurrently, and a hanging one leaves three quarters to
	// the others. A single hostname uses three quarters, so that a second one finds slots immediately. If a hostname
	// could use three quarters of the waiting deliveries, 1,500 or 3,000 hanging webhooks of one hostname would delay
	// 23 to 49 % of the healthy events (mutants).
	d.fast = poolLimits{maxStarted: n.Fast, maxHeld: 8 * n.Fast, hostShare: max(1, n.Fast/4), maxPerHost: max(1, n.Fast*3/4), maxHostDeliveries: d.maxPrefetch / 2}
	// A write starts after a quarter of these results, so that requests continue during the write. For 20,000
	// deliveries to 100 webhooks, writes every 10 ms leave no capacity for requests in a quarter of the time. These
	// writes do so in an eighth of the time (drain).
	d.writeThreshold = d.fast.maxHeld / 4

	// Three quarters are for requests that start in this pool. 1,024 requests to fast webhooks can then hang at the
	// same time even if all other slots are in use. Requests of a hostname may hang for the whole Timeout, and the
	// requests of other hostnames need slots in the meantime (mutants).
	half := max(1, n.Slow/2)
	d.slow = poolLimits{maxStarted: max(1, n.Slow*3/4), maxHeld: n.Slow, hostShare: half, maxPerHost: half, maxHostDeliveries: half}
	// A quarter is for slow webhooks that work. Without it, 1,000 failing webhooks delay 57 % of the events of healthy
	// webhooks that are slow once in fifteen requests (mutants).
	d.maxNewOrFailing = half

	// With less than an eighth, a store would serve this hostname's webhooks instead of others.
	d.fast.minHostClaim, d.slow.minHostClaim = d.fast.maxHostDeliveries/8, d.slow.maxHostDeliveries/8

	// A claim starts while there is any capacity, so a pool exceeds its limit by at most an eighth.
	d.maxClaimBytes = n.PoolBytes / 8
	// A claim on PostgreSQL takes 10 to 40 ms. With a smaller value, healthy receivers of 300 ms get only 0.7 of the
	// throughput of four concurrent requests (mutants).
	d.prefetchTime = n.FastSlotTime

	// A request starts within half of its lease. This leaves its Timeout and 15 s to write its result. A write has 10
	// s.
	d.startWithin = n.Timeout + 15*time.Second
	d.lease = 2 * d.startWithin
	// Each due claim reads all known webhooks, even without capacity. The default is a minute.
	d.idleLifetime = d.lease

	// Twice the usual time is not a coincidence. With a quarter, a request that is slow by chance changes little, and
	// after eight requests the old time counts for a tenth (mutants).
	d.hangFactor, d.smoothing = 2, 4
	// With a half, one workspace gets a third to two thirds of the slots. If n workspaces could fill the pool, each
	// gets about one part of n + 1, and as much stays free. Two quarters in a claim leave half to the next one
	// (mutants).
	d.workspaceDivisor, d.claimDivisor = 2, 4

	// The random interval spreads the polls of processes.
	d.minPollInterval = n.PollInterval * 2 / 5
	// An error that ends immediately costs as little as a poll, a tenth of a second. If a store works for only half a
	// second at a time, each such period gets a call, with fewer calls than idle polls make.
	d.minBackoff = d.minPollInterval
	d.maxBackoff = 4 * d.minBackoff
	return d
}
