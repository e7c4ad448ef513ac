// Package scheduler decides what a dispatcher of webhooks does next: what to claim,
// which deliveries to send, and when to write down what became of them. It keeps the
// promise that destinations which do not answer delay no others.
//
// # In short
//
//   - A delivery comes in by a claim or is handed over by whoever stored it. It waits
//     with its webhook, and the webhook waits in the line of a pool. Its request takes a
//     place in that pool. Its result waits for others, and they are written together.
//     Every delivery that comes in ends in one result: sent, or given back as it was.
//     A result that the store refuses for good is dropped, and the delivery is repeated
//     when its lease runs out.
//   - There are two pools. A webhook is quick when its last request succeeded and none
//     of its last eight successes took longer than a moment, half a second. Quick webhooks
//     start in the quick pool of 64 places, all others in the second pool of 4,096.
//   - Nobody keeps a quick place: at the first step after 50 ms a request moves over to
//     the second pool. So the quick pool begins about 64 requests in 50 ms, whoever hangs,
//     until the second pool is full, or the host name that hangs has its half of that pool.
//     An Observer is told for how long it was full.
//   - The second pool keeps a quarter of its places for requests that move over, and a
//     quarter for webhooks that are slow but work. New and failing webhooks have half.
//   - A workspace that has more of the second pool than half of what is free there gets
//     nothing more. So with n owners who could fill it, about one part of n + 1 stays free, and
//     whoever has little under way finds a place at once.
//   - A webhook has four requests under way, and one while it is new or fails. With
//     another URL it is another webhook. A quick webhook hangs when one of its requests
//     lasts for 50 ms, and for twice as long as its requests usually do. The webhook gets no
//     further request until the hanging request has ended. Deliveries that wait for it go
//     back to the store, and so does a delivery that has waited for a second for any webhook.
//   - A host name has a quarter of the quick places while another name waits, else three
//     quarters, and half of the second pool. It has half of what may wait for the quick pool.
//   - Within a pool webhooks take turns. The store has turns of its own: a claim
//     brings deliveries of the webhooks that were served longest ago, for the quick pool, for
//     slow webhooks and for new and failing ones as much as there is room for, and for each webhook about as much as it sends before the
//     next claim. One claim is under way at a time. The next claim begins when somebody
//     calls, when results of claimed deliveries are recorded, or of a webhook that the
//     last claim had no room for, or after at most a quarter of a second. A claim for the
//     quick pool waits until that pool has room for half of what may wait there.
//   - A process that dies repeats what it sent and did not record. Each pool bounds how much.
//   - A webhook that fails ten times in a row over half a minute is paused and probed.
//     The store keeps the pause and how the webhook fared; a claim brings both.
//   - After a fault of the store the next call waits for at most 0.4 s, and as soon as any call
//     succeeds for at most 0.1 s after the fault.
//   - After a write failed nothing is claimed or handed over until all results are written
//     but those that somebody else holds up.
//
// The scheduler is a state machine without a clock, a goroutine, a lock or I/O: the
// same events at the same times lead to the same actions. Package webhooks is the shell
// that feeds it and carries out what it says. So its tests are tables and histories in
// virtual time. [Numbers] are the twelve numbers that were tuned, and [Default] says why. All
// others follow from them in derive.
//
// A reader begins with [Scheduler.Step]. scheduler.go follows a delivery from its
// arrival to its end. webhook.go has what is known of a webhook and what follows from
// it, pool.go the places and turns, claims.go and results.go the two calls of the store.
package scheduler
