// Package scheduler decides what a webhook dispatcher does next: which deliveries to claim and send, and when to record
// their results. It ensures that destinations that do not respond do not delay the deliveries to others.
//
// # Overview
//
//   - A delivery arrives by a claim or by direct dispatch. It waits with its webhook, and the webhook waits in the
//     queue of a pool. Its request takes a slot in that pool. Results are recorded in batches. Every delivery has one
//     result: it is sent, or released unchanged. If the store permanently rejects a result, the result is dropped, and
//     the delivery is repeated after its lease expires.
//   - There are two pools. A webhook is fast if its last request succeeded and none of its last eight successes took
//     longer than half a second. Fast webhooks start in the fast pool of 64 slots, all others in the slow pool of
//     4,096.
//   - No request keeps a fast slot for long. At the first step after 50 ms, it moves to the slow pool, so that the fast
//     pool starts about 64 requests in 50 ms even if destinations hang. The exceptions are a full slow pool, and a
//     hanging hostname that uses its half of that pool. An Observer receives the time for which the pool was full.
//   - The slow pool reserves a quarter of its slots for requests from the fast pool, and a quarter for webhooks that are
//     slow but work. New and failing webhooks can use half.
//   - A workspace gets no more slots of the slow pool while it uses more than half of the number of free slots. If n
//     workspaces could fill the pool, about one part of n + 1 stays free, so that a workspace with few requests
//     finds a slot immediately.
//   - A webhook has four requests in flight, and one while it is new or fails. A webhook with a changed URL counts as
//     a new webhook. A fast webhook hangs if one of its requests takes longer than 50 ms, and longer than twice its
//     usual duration. It then gets no further request until that request ends, and its waiting deliveries return to
//     the store. A delivery that has waited for a second also returns, whatever its webhook.
//   - A hostname can use a quarter of the fast slots while another hostname waits, and otherwise three quarters. It can
//     use half of the slow pool, and half of the deliveries that wait for the fast pool.
//   - Each pool serves its webhooks in round robin. So does the store: a claim returns deliveries of the webhooks that
//     were served longest ago. There are as many as there are free slots for the fast pool, for slow webhooks, and for
//     new and failing ones. For each webhook, a claim returns about as many as it sends before the next claim.
//   - Only one claim runs at a time. The next one starts when a delivery is queued, or when the results of claimed
//     deliveries, or of a webhook that the last claim skipped, are recorded, or after a quarter of a second. A claim
//     for the fast pool also waits until the pool can accept half of its limit of waiting deliveries.
//   - A killed process repeats the deliveries that it sent but did not record. Each pool limits their number.
//   - A webhook that fails ten times in a row over half a minute is paused and probed. The store contains the pause and
//     the webhook's health, and a claim returns both.
//   - After an error of the store, the next call waits for at most 0.4 s, or 0.1 s as soon as another call succeeds.
//   - After a failed write, the scheduler does not claim or dispatch until all results are written, except results
//     that another transaction blocks.
//
// The scheduler is a state machine without a clock, goroutines, locks or I/O: the same events at the same times lead to
// the same actions. Package webhooks passes events to it and executes its actions. So tests can run in virtual time.
//
// Start reading at [Scheduler.Step]. scheduler.go follows a delivery from its arrival to its end. webhook.go contains
// the state of a webhook, pool.go the slots and queues, and claims.go and results.go the two calls to the store.
package scheduler
