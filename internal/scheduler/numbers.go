package scheduler

import "time"

// Numbers holds every tuning parameter.
type Numbers struct {
	// Quick is how many requests the quick pool holds.
	Quick int
	// Second is how many requests the second pool holds.
	Second int
	// PerWebhook is how many requests a webhook in good standing has under way.
	PerWebhook int
	// Moment is how long a quick request takes at most. Quick ÷ Moment is the number
	// of quick webhooks that may begin to hang within a second and delay nobody.
	Moment time.Duration
	// Successes is how many of them have to be quick after one that was not.
	Successes int
	// Ahead bounds the deliveries that were claimed and wait.
	Ahead int
	// Unrecorded bounds the deliveries that were sent from the quick pool and are not
	// recorded: a killed process repeats them.
	Unrecorded int
	// AheadFor is how long the deliveries that wait for a webhook keep it busy: for
	// longer than a claim takes.
	AheadFor time.Duration
	// Patience is how long a delivery waits before it is given back. What waits is
	// neither stopped by the deletion of its webhook nor signed with a new secret. At
	// its slowest the quick pool sends Ahead deliveries within Ahead ÷ Quick × Moment.
	Patience time.Duration
	// Rows bounds a write, and ClaimBytes the bodies that one claim brings.
	Rows, ClaimBytes int
	// PoolBytes bounds the bodies that each of the pools holds.
	PoolBytes int
	// Gather is how long results wait for others, and the least time from claim to
	// claim: a busy process makes at most so many calls.
	Gather time.Duration
	// Lease is how long a claim holds, Timeout how long a request takes at most.
	Lease, Timeout time.Duration
}
