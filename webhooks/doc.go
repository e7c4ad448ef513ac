// Package webhooks delivers events to the URLs that form owners registered.
//
// A [Dispatcher] takes pending deliveries out of a [storage.DeliveryStore], posts them and
// records what became of them. [github.com/formsvc/formsvc.Service.Dispatcher] is the one of
// a service; a host calls its Run, and its Wake after a commit of the host's own. Any number
// of processes may run a dispatcher over the same store: a delivery is leased to one process
// at a time, and a lease that runs out is claimed again.
//
// # What a receiver gets
//
// Each delivery is a POST of a body such as this one, which "webhooks" of the API's description
// (GET /v1/openapi.json) has member by member. Answers are by block id and have the shapes of
// package schema; a test event has no submissionId:
//
//	{"id": "65a1f0c2d4e5b6a7980c1d06", "response": {
//	  "formId": "65a1f0c2d4e5b6a7980c1d02", "submissionId": "65a1f0c2d4e5b6a7980c1d03",
//	  "answers": {"stars": 5, "found": {"id": "friend", "label": "A friend"}, "customer": "C-1042"},
//	  "hidden": {"customer": "C-1042"}, "variables": {"score": 5}, "metadata": {"country": "PT"},
//	  "submittedAt": "2026-11-21T16:05:40Z", "completionTime": 41.5}}
//
// It has the headers Service-Version and, when the webhook has a signing secret,
// Service-Signature: sha256= and the hexadecimal HMAC-SHA-256 of the body's bytes as they came.
// The receiver reads the whole body, verifies the signature, and answers with a 2xx status
// promptly. In Go it calls [Verify], and the [example Receiver] is a whole one; in JavaScript and Python it does this:
//
//	const crypto = require("node:crypto");
//	function genuine(secret, body /* Buffer */, signature) {
//	  const want = Buffer.from("sha256=" + crypto.createHmac("sha256", secret).update(body).digest("hex"));
//	  const got = Buffer.from(signature ?? "");
//	  return got.length === want.length && crypto.timingSafeEqual(got, want);
//	}
//
//	import hashlib, hmac
//
//	def genuine(secret: str, body: bytes, signature: str) -> bool:
//	    want = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
//	    return hmac.compare_digest(want.encode(), signature.encode())
//
// With [Config.StandardWebhooks] every delivery also has the headers of the Standard Webhooks
// specification, so that its libraries verify a delivery and refuse what is replayed. After a
// secret is changed, the old secret signs next to the new one in webhook-signature for a day, or
// until the next change.
//
// # What comes again
//
// Deliveries are at least once, in no promised order. An event has the same id and the same
// bytes on every attempt: recognise by the id what you have dealt with, and answer 2xx again.
//
// There are eight attempts over about 28 hours (33 at most, see [RetryPolicy]): at once and
// then after 5 seconds, 5 minutes, 30 minutes, 2 hours, 5 hours and twice 10 hours. Status
// 410 ends a delivery. A Retry-After of up to a day holds for all deliveries of the webhook.
// No retry is set for later than three days after the event was queued ([Config.MaxAge]), so
// remember ids for four days at least. There is no time after which an id cannot come: an event
// also waits while no dispatcher runs or the host cannot send it, and
// [github.com/formsvc/formsvc.Service.Redeliver] sends an event whenever the host asks. A
// receiver that keeps the id with what it made of the event, in a unique column, is safe for good.
//
// A webhook that fails ten times in a row over 30 s is paused: a delivery is tried after
// 10 s, then at growing intervals up to an hour, and the others wait. What waits ends after
// three days of failures ([Config.MaxAge]). [github.com/formsvc/formsvc.Client.PausedWebhooks]
// lists the paused webhooks with since when and why.
//
// # What happens to a delivery
//
// A delivery is stored with the response, in the same transaction, and leaves the queue only
// when its result is stored. A process that is killed loses nothing: what the process had under
// way is claimed again when the lease runs out, 60 s later, by any process that runs a
// dispatcher.
// Receivers see some of these events twice: those sent in the last 10 ms or so, at most
// 8 × [Config.InFlight], and the requests of the other pool, at most [Config.InFlightSlow].
//
// A delivery is sent at once by the process that took the response, and within 250 ms by any
// other. The signature is made with the secret of that moment;
// [github.com/formsvc/formsvc.WithSecretCipher] seals secrets in the storage.
//
// Nobody waits for a dead destination. A process has 64 requests under way to webhooks that
// are known to answer within half a second, and 4,096 to all others: slow ones, new and
// failing ones (half of them at most), and requests that last longer than 50 ms; an owner
// (a workspace) gets no more while it has more of them than half of what is free. A webhook
// has 4 of them for its URL, one while it is new or fails; a host name has a quarter of the
// 64 while others wait. So any number of new or known bad destinations delays nobody. Of
// requests to quick webhooks, 1,280 may begin to hang within the same second (four of each
// webhook that has as many waiting), as long as the 4,096 have room for them. [Config] has
// these numbers.
//
// An [Observer] sees each attempt, each pause of a webhook with its reason and, every 15 s,
// the depth of the queue, the age of the oldest due delivery and whether the 4,096 were full; examples/otel feeds
// OpenTelemetry's instruments from it. Failed attempts are log lines with the webhook, event,
// delivery, attempt, class, error and duration.
//
// # Where webhooks may go
//
// Form owners choose the URLs that your servers send requests to. The library sends them to
// public addresses only. A [Guard] refuses, when a webhook is made or its URL changes (status
// 422, code WEBHOOK_URL_REJECTED) and again before each delivery:
//
//   - schemes other than http and https, credentials, fragments, spaces, backslashes,
//     more than 2048 bytes, and the ports that browsers refuse (22, 25, 6667 …);
//   - addresses in any but plain form (127.1, 0x7f000001, １２７.０.０.１), zones, and
//     IPv4 inside IPv6;
//   - names of one label, and those below localhost, local, internal, localdomain,
//     home.arpa, lan, svc and invalid;
//   - names of which any address is not public: private, loopback, link-local (cloud
//     metadata), shared, multicast, documentation and reserved addresses, 168.63.129.16
//     of Azure, everything in IPv6 outside 2000::/3, and tunnels inside it (6to4,
//     Teredo, ISATAP).
//
// The name is resolved without the search list for each new connection, the addresses that
// were checked are dialled, and the address of the socket is checked once more. Proxies in
// the environment are ignored, redirects are not followed, TLS is 1.2 or later with a
// verified certificate, and requests are HTTP/1.1. One attempt ends within [Config.Timeout],
// 15 s, whatever the receiver does, and reads at most 64 kB of headers and 64 kB of body.
// Owners learn only timeout, network, redirect or status; your log has the cause.
// [NewClient] gives the same client for calls of your own.
//
// [Config.AllowedNetworks] takes prefixes that may be reached all the same, for development
// (127.0.0.1/32, ::1/128) and for receivers on your premises. A name that resolves wholly
// inside them may have any form. Everybody who can make a webhook can then reach all of those
// networks, on all ports but the refused ones: name the narrowest.
//
// An egress proxy or a network policy is still good, because an address does not tell
// everything: services of yours on public addresses, such as your own load balancer, public
// ranges that your network uses privately, and a NAT64 or 6rd prefix of your provider. Name
// those that you know in [Config.DeniedNetworks]. A rule on the network that lets the process
// with the dispatcher reach the internet and nothing else covers the rest; the dispatcher may
// run in a process of its own for that. The client speaks to no proxy: use a transparent one
// or a firewall.
//
// # What to watch
//
//   - Lines "webhook attempt failed" whose error says "is not permitted": a name was public
//     when the webhook was made and points inside now, which is an accident or an attack.
//   - Many WEBHOOK_URL_REJECTED from one key.
//   - The age of the oldest due delivery.
//   - [InFlight].SlowFull: while it grows, destinations that hang delay others. A larger
//     [Config.InFlightSlow] or another process helps.
//   - What a receiver sends beyond its answer on a kept connection: net/http closes the
//     connection and writes one line to the standard logger of package log, "Unsolicited
//     response received on idle HTTP channel", with at most 1 kB of what came, quoted, which
//     is up to 4 kB. The service's logger does not see the line.
//
// # Inside
//
//	ClaimDeliveries or HandOver → the scheduler →  a request  → FinishDeliveries
//	   run.go       handover.go       run.go       delivery.go       run.go
//
// Package internal/scheduler decides what is claimed, sent and written, and when; its
// documentation has the rules. A run (run.go) is the scheduler's shell: under one lock it
// passes the scheduler what happened and begins what the scheduler says. Claims, requests and
// writes happen in goroutines of their own, which only report their results. Connections are
// those of [net/http.Transport] behind the guard (client.go).
//
// [New] and [Params] are wiring between this package and the root package. They
// may change before version 1.
//
// [example Receiver]: https://pkg.go.dev/github.com/formsvc/formsvc/webhooks#example-package-Receiver
package webhooks
