// Package webhooks delivers events to the URLs that form owners registered.
//
// A [Dispatcher] takes pending deliveries out of a [storage.DeliveryStore], posts
// them and writes down what became of them. Any number of processes may run one
// over the same store: a delivery is leased to one of them at a time, and a lease
// that runs out is claimed again, so a process that dies loses nothing. Delivery
// is at least once and in no promised order; an event has the same id and the
// same bytes on every attempt.
//
// # How data flows
//
//	ClaimDeliveries or HandOver → the scheduler →  a request  → FinishDeliveries
//	   run.go       handover.go       run.go       delivery.go       run.go
//
// Package internal/scheduler decides what is claimed, sent and written, and when; its
// documentation has the rules. A run (run.go) is its shell: under one lock it passes the
// scheduler what happened and begins what that says. Claims, requests and writes happen
// in goroutines of their own, which only report their results. Quick destinations and all
// others have separate pools of requests, so a destination that does not answer delays no
// quick one. Connections are those of [net/http.Transport] behind the guard (client.go).
//
// # Where a request may go
//
// The URL comes from a stranger, and the host's network is behind us. [Guard]
// holds the rules, [NewClient] makes an HTTP client that obeys them: only public
// addresses are dialled, checked once more on the socket, with no proxy from the
// environment, no redirects and no HTTP/2. [Config.AllowedNetworks] is the only way round.
// A host that wants defence in depth adds an egress proxy or a network policy.
//
// # What receivers do
//
// They check the signature with [Verify] and answer with a 2xx status promptly.
// Whatever else they answer is tried again on the schedule of [RetryPolicy];
// status 410 ends a delivery.
//
// [New] and [Params] are wiring between this package and the root package. They
// may change before version 1.
package webhooks
