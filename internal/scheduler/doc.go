// Package scheduler decides what a dispatcher of webhooks does next: what to claim,
// which deliveries to send, and when to write down what became of them. It keeps the
// promise that destinations which do not answer delay no others.
//
// It is a state machine without a clock, a goroutine, a lock or I/O: the same events
// at the same times lead to the same actions. Package webhooks is the shell that
// feeds it and carries out what it says. So its tests are tables and histories in
// virtual time.
//
// # The rules
//
// A webhook has at most four requests under way, and one while it has never answered
// with success or its last request failed.
//
// Requests have places in one of two pools. The quick pool is for webhooks that are
// known to be quick: the last request succeeded, and none of the last eight successes
// took longer than the moment. All others start in the second pool, in at most three
// quarters of it. The rest is for requests that turn out to take longer than the
// moment in a quick place: they move over. While a quick webhook has such a request
// it gets no further one.
//
// A host name has at most a quarter of the quick places while another one waits, else
// three quarters, and at most half of the second pool.
//
// Within a pool webhooks take turns.
//
// # The way of a delivery
//
//	claim or hand-over → it waits with its webhook, and the webhook in the line of
//	its pool → the request is under way → its result waits to be written
//
// Every delivery that comes in ends in exactly one result: sent or given back.
package scheduler
