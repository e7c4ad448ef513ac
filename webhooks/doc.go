// Package webhooks delivers events to the URLs that users have registered.
//
// A [Dispatcher] claims pending deliveries from a [storage.DeliveryStore], sends them and records the results.
// [github.com/formsvc/formsvc.Service.Dispatcher] returns a service's dispatcher. A host calls its Run, and its Wake
// after a commit of its own transaction. Any number of processes can run a dispatcher on the same store. A delivery is
// leased to one process at a time. After the lease expires, another process can claim it.
//
// # Receivers
//
// Each delivery is a POST with a body such as the one below. "webhooks" in the API description (GET /v1/openapi.json)
// documents each field. The keys of answers are block IDs, and package schema documents their values. A test event has
// no submissionId:
//
//	{"id": "65a1f0c2d4e5b6a7980c1d06", "response": {
//	  "formId": "65a1f0c2d4e5b6a7980c1d02", "submissionId": "65a1f0c2d4e5b6a7980c1d03",
//	  "answers": {"stars": 5, "found": {"id": "friend", "label": "A friend"}, "customer": "C-1042"},
//	  "hidden": {"customer": "C-1042"}, "variables": {"score": 5}, "metadata": {"country": "PT"},
//	  "submittedAt": "2026-11-21T16:05:40Z", "completionTime": 41.5}}
//
// A delivery has the header Service-Version. If the webhook has a signing secret, it also has Service-Signature:
// sha256= and the hexadecimal HMAC-SHA-256 of the received body. A receiver reads the whole body, verifies the
// signature, and promptly returns a 2xx status. In Go, call [Verify]; the [example Receiver] is a complete receiver. In
// JavaScript and Python, use these functions:
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
// With [Config.StandardWebhooks], every delivery also has the headers of the Standard Webhooks specification. Its
// libraries can then verify deliveries and reject replays. After a secret changes, the old secret also signs
// webhook-signature for a day, or until the next change.
//
// # Repeated deliveries
//
// A delivery arrives at least once, and the order is not guaranteed. An event has the same ID and the same bytes in
// every attempt. Use the ID to detect an event that you have already processed, and return 2xx again.
//
// There are eight attempts over about 28 hours (33 at most, see [RetryPolicy]): immediately, and then after 5 seconds,
// 5 minutes, 30 minutes, 2 hours, 5 hours and twice 10 hours. Status 410 ends a delivery. A Retry-After of up to a day
// applies to all deliveries of the webhook. No retry is scheduled for later than three days after the event was queued
// ([Config.MaxAge]), so store IDs for four days at least. An ID can still arrive later. An event also waits while no
// dispatcher runs or the host cannot send it, and [github.com/formsvc/formsvc.Service.Redeliver] sends an event at any
// time. A receiver is always safe if it stores the ID with its result, in a unique column.
//
// A webhook is paused if it fails ten times in a row over 30 s. The dispatcher then sends one delivery as a probe after
// 10 s, and again at growing intervals of up to an hour. The other deliveries wait. They expire after three days of
// failures ([Config.MaxAge]). [github.com/formsvc/formsvc.Client.PausedWebhooks] lists the paused webhooks with the
// time and the reason.
//
// # Processing of deliveries
//
// A delivery is stored in the same transaction as the submission. It leaves the queue only when its result is stored. A
// killed process loses nothing: after 60 s its leases expire, and any process with a dispatcher claims the deliveries
// again. Receivers get some of these events twice: those sent in the last 10 ms or so (at most 8 × [Config.InFlight]),
// and the requests of the slow pool (at most [Config.InFlightSlow]).
//
// The process that stores a submission sends its deliveries immediately. Other processes send them within 250 ms. The
// signature uses the secret at the time of sending; [github.com/formsvc/formsvc.WithSecretCipher] encrypts secrets in
// the storage.
//
// A dead destination does not delay others. A process has two pools of requests:
//
//   - The fast pool has 64 slots, for webhooks that respond within half a second.
//   - The slow pool has 4,096 slots. It is for slow webhooks, for new and failing ones (at most half of it), and for
//     requests that take longer than 50 ms. A workspace gets no more slots while it uses more than half of the number
//     of free ones.
//
// A webhook has 4 slots, or 1 while it is new or fails. A hostname has a quarter of the 64 slots while others wait. Any
// number of new or known bad destinations therefore delays no others. Up to 1,280 requests to fast webhooks can start
// to hang in the same second (four per webhook with as many deliveries), while the slow pool has free slots. [Config]
// contains these numbers.
//
// An [Observer] receives each attempt and each pause of a webhook with its reason. Every 15 s it receives the size of
// the queue, the age of the oldest due delivery, and whether the slow pool was full. examples/otel exports these values
// to OpenTelemetry. Failed attempts are logged with the webhook, event, delivery, attempt, class, error and duration.
//
// # Allowed destinations
//
// Users choose the URLs to which your servers send requests. The library sends them only to public addresses. A [Guard]
// checks each URL when a webhook is created or its URL changes (status 422, code WEBHOOK_URL_REJECTED), and again
// before each delivery. It rejects:
//
//   - schemes other than http and https, credentials, fragments, spaces, backslashes, more than 2048 bytes, and the
//     ports that browsers block (22, 25, 6667 …);
//   - addresses in unusual forms (127.1, 0x7f000001, １２７.０.０.１), zones, and IPv4 inside IPv6;
//   - names of one label, and names below localhost, local, internal, localdomain, home.arpa, lan, svc and invalid;
//   - names with any address that is not public: private, loopback, link-local (cloud metadata), shared, multicast,
//     documentation and reserved addresses, 168.63.129.16 of Azure, everything in IPv6 outside 2000::/3, and tunnels
//     inside it (6to4, Teredo, ISATAP).
//
// The client resolves the name without the search list for each new connection, and dials the addresses that it
// checked. It then checks the address of the socket again. It ignores proxies in the environment and does not follow
// redirects. It requires TLS 1.2 or later with a verified certificate, and uses HTTP/1.1. One attempt ends within
// [Config.Timeout], 15 s, and reads at most 64 kB of headers and 64 kB of body. Users see only timeout, network,
// redirect or status; your log contains the cause. [NewClient] returns the same client for your own requests.
//
// [Config.AllowedNetworks] lists additional prefixes that webhooks can reach, for development (127.0.0.1/32, ::1/128)
// and for receivers on your premises. If a name resolves only to these prefixes, it can have any form. Every user who
// can create a webhook can then reach all of these networks, on all ports except the blocked ones. Use the narrowest
// prefixes.
//
// Also use a firewall or a network policy, because an address does not show everything. Examples are your own services
// on public addresses, such as a load balancer, public ranges that your network uses privately, and a NAT64 or 6rd
// prefix of your provider. Add known ones to [Config.DeniedNetworks]. For the others, use a network rule that allows
// the dispatcher's process to reach only the internet. You can run the dispatcher in a separate process for this. The
// client does not support proxies, so use a transparent one or a firewall.
//
// # Monitoring
//
//   - Log entries "webhook attempt failed" whose error contains "is not allowed": a name was public when the webhook
//     was created, but now resolves to a private address. This is an error or an attack.
//   - Many WEBHOOK_URL_REJECTED errors from one key.
//   - The age of the oldest due delivery.
//   - [InFlight].SlowFullFor: while it grows, hanging destinations delay others. Increase [Config.InFlightSlow] or add
//     a process.
//   - Data that a receiver sends after its response on an idle connection. net/http closes the connection and writes
//     "Unsolicited response received on idle HTTP channel" to the standard logger of package log. The entry contains at
//     most 1 kB of the data, which takes up to 4 kB with quoting. The service's logger does not receive it.
//
// # Implementation
//
//	ClaimDeliveries or Dispatch → the scheduler →  a request  → FinishDeliveries
//	run.go    direct_dispatch.go       run.go       delivery.go       run.go
//
// Package internal/scheduler decides which deliveries to claim, send and record, and when. Its documentation describes
// the rules. A run (run.go) connects the scheduler with the outside: under one lock, it passes events to the scheduler
// and starts the resulting actions. Claims, requests and writes run in separate goroutines, which only report their
// results. Connections use [net/http.Transport] with the guard (client.go).
//
// [NewDispatcher] is for the root package. It may change before version 1.
//
// [example Receiver]: https://pkg.go.dev/github.com/formsvc/formsvc/webhooks#example-package-Receiver
package webhooks
