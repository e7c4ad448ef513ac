// Package scheduler decides what a webhook dispatcher does next: which deliveries to claim and send, and when to record
// their results. It ensures that destinations that do not respond delay no others.
//
// # Overview
//
//   - A delivery arrives by a claim or by direct dispatch. It waits with its webhook, and the webhook waits in the
//     queue of a pool. Its request takes a slot in that pool. Results are recorded in batches. Every delivery ends in
//     one result: sent, or released unchanged. If the store permanently rejects a result, the result is dropped, and
//     the delivery is repeated after its lease expires.
//   - There are two pools. A webhook is fast if its last request succeeded and none of its last eight successes took
//     longer than half a second. Fast webhooks start in the fast pool of 64 slots, all others in the slow pool of
//     4,096.
//   - No request keeps a fast slot for long. At the first step after 50 ms, it moves to the slow pool. The fast pool
//     therefore starts about 64 requests in 50 ms, even if destinations hang. This ends only if the slow pool is full,
//     or if the hanging hostname uses its half of that pool. An Observer receives the time for which the pool was full.
//   - The slow pool reserves a quarter of its slots for requests that move over, and a quarter for webhooks that are
//     slow but work. New and failing webhooks can use half.
//   - A workspace gets no more slots of the slow pool while it uses more than half of the number of free slots. With n
//     workspaces that could fill the pool, about one part of n + 1 therefore stays free. A workspace with few requests
//     finds a slot immediately.
//   - A webhook has four requests in flight, and one while it is new or fails. A webhook with a changed URL counts as
//     another webhook. A fast webhook hangs if one of its requests takes longer than 50 ms, and longer than twice its
//     usual time. The webhook gets no further request until the hanging request has ended. Its waiting deliveries
//     return to the store. A delivery that has waited a second for any webhook also returns.
//   - A hostname can use a quarter of the fast slots while another hostname waits, otherwise three quarters. It can use
//     half of the slow pool, and half of the deliveries that wait for the fast pool.
//   - Each pool serves its webhooks in round robin. The store has its own round robin: a claim returns deliveries of
//     the webhooks that were served longest ago. For the fast pool, for slow webhooks, and for new and failing
//     webhooks, it returns as many as there are free slots. For each webhook, it returns about as many as the webhook
//     sends before the next claim. Only one claim runs at a time. The next claim starts after a call, or after results
//     are recorded of claimed deliveries or of a webhook that did not fit into the last claim. At the latest, it starts
//     after a quarter of a second. A claim for the fast pool waits until that pool can accept half of its limit of
//     waiting deliveries.
//   - A process that dies repeats the deliveries that it sent but did not record. Each pool limits their number.
//   - A webhook that fails ten times in a row over half a minute is paused and probed. The store contains the pause and
//     the webhook's health; a claim returns both.
//   - After an error of the store, the next call waits for at most 0.4 s. As soon as any call succeeds, this decreases
//     to at most 0.1 s after the error.
//   - After a failed write, the scheduler claims and dispatches nothing until all results are written, except results
//     that another transaction blocks.
//
// The scheduler is a state machine without a clock, goroutines, locks or I/O: the same events at the same times lead to
// the same actions. Package webhooks passes events to it and executes its actions. The tests are therefore tables and
// histories in virtual time. [Config] contains the twelve numbers that were tuned, and [DefaultConfig] gives the
// reasons. derive computes all others.
//
// Start reading at [Scheduler.Step]. scheduler.go follows a delivery from its arrival to its end. webhook.go contains
// the state of a webhook, pool.go the slots and queues, and claims.go and results.go the two calls to the store.
package scheduler
