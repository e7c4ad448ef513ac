// Package scheduler decides what a webhook dispatcher does next: which deliveries to claim and send, and when to record
// their results. It ensures that unresponsive destinations do not delay deliveries to others.
//
// # Overview
//
//   - A delivery arrives through a claim or direct dispatch. It waits with its webhook, and the webhook waits in a
//     pool's queue. The delivery's request takes a slot in that pool. Results are recorded in batches. Every delivery
//     has one result: it is sent, or released unchanged. If the store permanently rejects a result, the result is
//     dropped and the delivery is repeated after its lease expires.
//   - There are two pools. A webhook is fast if its last request succeeded and none of its last eight successes took
//     longer than half a second. Requests to fast webhooks start in the fast pool, which has 64 slots. All other
//     requests start in the slow pool, which has 4,096.
//   - A request cannot keep a fast slot for long. At the first step after 50 ms, it moves to the slow pool, so that the
//     fast pool can start about 64 requests every 50 ms even if destinations hang. A request cannot move if the slow
//     pool is full or its hostname already uses half of that pool. An Observer receives how long the slow pool was
//     full.
//   - The slow pool reserves a quarter of its slots for requests from the fast pool, and a quarter for webhooks that
//     are slow but working. New and failing webhooks can use half.
//   - A workspace gets no more slots in the slow pool while it uses more than half as many slots as are free. If n
//     workspaces each could fill the pool, about 1/(n + 1) of it stays free, so that a workspace with few requests
//     finds a slot immediately.
//   - A webhook can have four requests in flight, or one while it is new or failing. A webhook whose URL changes counts
//     as new. A fast webhook counts as hanging if one of its requests takes longer than 50 ms and longer than twice the
//     webhook's usual duration. It then gets no further requests until that request ends, and its waiting deliveries
//     return to the store. For any webhook, a delivery that has waited for a second also returns to the store.
//   - A hostname can use a quarter of the fast slots while another hostname waits, and otherwise three quarters. It can
//     use half of the slow pool's slots, and up to half of the deliveries that wait for the fast pool.
//   - Each pool serves its webhooks round robin. So does the store: a claim returns deliveries for the webhooks that
//     were served longest ago. It returns as many deliveries as there is capacity for in the fast pool, for slow
//     webhooks, and for new and failing ones. For each webhook, it returns about as many deliveries as the webhook
//     receives before the next claim.
//   - Only one claim runs at a time. The next claim starts when a delivery is queued, when results are recorded for
//     claimed deliveries or for a webhook that the last claim skipped, or after a quarter of a second. A claim for the
//     fast pool also waits until the pool can accept half of its maximum number of waiting deliveries.
//   - If a process is killed, the deliveries that it sent but did not record are repeated. Each pool limits their
//     number.
//   - A webhook that fails ten times in a row over at least half a minute is paused and probed. The store holds the
//     pause and the webhook's health, and claims return both.
//   - After a store error, the next call waits for at most 0.4 s, or 0.1 s once another call succeeds.
//   - After a failed write, the scheduler pauses claims and dispatches until all results are written, except results
//     that another transaction blocks.
//
// The scheduler is a state machine without a clock, goroutines, locks or I/O: the same events at the same times lead to
// the same actions. Package webhooks passes events to it and executes its actions. So tests can run with simulated
// time.
//
// Start reading at [Scheduler.Step]. scheduler.go follows a delivery from arrival to result. webhook.go contains the
// state of a webhook, pool.go the slots and queues, and claims.go and results.go the two calls to the store.
package scheduler
