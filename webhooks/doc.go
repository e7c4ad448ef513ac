// Package webhooks delivers events to the URLs that users have registered.
//
// A [Dispatcher] claims pending deliveries from a [storage.DeliveryStore], sends them and records the results.
// [github.com/formsvc/formsvc.Service.Dispatcher] returns a service's dispatcher. A host calls its Run method, and
// calls Wake after committing its own transactions. Any number of processes can run a dispatcher on the same store,
// which leases each delivery to only one process at a time.
//
// # Receivers
//
// Each delivery is a POST request with a JSON body. Its fields are documented under "webhooks" in the API description
// (GET /v1/openapi.json). The keys of answers are block IDs, and package schema documents their values. A test event
// has no submissionId. For example:
//
//	{"id": "65a1f0c2d4e5b6a7980c1d06", "response": {
//	  "formId": "65a1f0c2d4e5b6a7980c1d02", "submissionId": "65a1f0c2d4e5b6a7980c1d03",
//	  "answers": {"stars": 5, "found": {"id": "friend", "label": "A friend"}, "customer": "C-1042"},
//	  "hidden": {"customer": "C-1042"}, "variables": {"score": 5}, "consents": {}, "metadata": {"country": "PT"},
//	  "submittedAt": "2026-11-21T16:05:40Z", "completionTime": 41.5}}
//
// If a webhook has FormDetails, the response also contains formName, language and questions, which maps each block ID to
// a label and a type. They show the form as it was when the submission was stored. The language is the tag of the form
// page's language, or [github.com/formsvc/formsvc.SubmitParams].Language. It is absent if it is unknown, for example for
// imports. FormDetails applies to events that are queued later. Every attempt of an event has the same bytes.
//
// If a webhook has Updates, it also gets an event for each change of a submission
// ([github.com/formsvc/formsvc.Client.UpdateSubmission]). The event has the additional fields "type":
// "form.response.updated" and, in the response, revision and changedAt. It contains all answers after the change. Each
// change has its own event ID. Events can arrive in any order, so ignore a revision that is lower than the last one that
// you processed. The submission itself has revision 1.
//
// A delivery has the header Service-Version. If the webhook has a signing secret, it also has Service-Signature:
// sha256= and the hexadecimal HMAC-SHA-256 of the body. A receiver must read the whole body, verify the signature, and
// promptly return a 2xx status. In Go, call [Verify]. The [example Receiver] is a complete receiver. In JavaScript and
// Python, use these functions:
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
// With [Config.StandardWebhooks], receivers can verify deliveries and reject replays with the libraries of the Standard
// Webhooks specification. After a secret changes, webhook-signature contains signatures with both secrets for a day, or
// until the next change.
//
// # Repeated deliveries
//
// Each delivery arrives at least once. The order is not guaranteed. Every attempt has the same ID and the same bytes.
// Use the ID to detect an event that you have already processed, and return 2xx again.
//
// A delivery has eight attempts over about 28 hours (33 at most, see [RetryPolicy]): immediately, and then after 5
// seconds, 5 minutes, 30 minutes, 2 hours, 5 hours and twice 10 hours. Status 410 ends a delivery. A Retry-After of up
// to a day applies to all deliveries of the webhook. No retry is scheduled for later than three days after the event
// was queued ([Config.MaxAge]), so store IDs for four days at least. An event can arrive even later after an outage of
// the host, or because of [github.com/formsvc/formsvc.Service.Redeliver]. To handle every case, store the ID together
// with your result, in a unique column.
//
// A webhook is paused if it fails ten times in a row over 30 s. The dispatcher then sends one delivery as a probe after
// 10 s, and again at growing intervals of up to an hour. In the meantime, the other deliveries wait. They expire after
// three days of failures ([Config.MaxAge]). [github.com/formsvc/formsvc.Client.PausedWebhooks] lists paused webhooks.
//
// # How deliveries are processed
//
// A delivery is stored in the same transaction as the submission, and leaves the queue only when its result is stored.
// If a process is killed, its leases expire after 60 s, and any process with a dispatcher claims its deliveries again.
// Receivers then get some events twice: events sent in about the last 10 ms (at most 8 × [Config.InFlight]), and events
// in the slow pool (at most [Config.InFlightSlow]).
//
// If the process that stores a submission runs a dispatcher, it sends the submission's deliveries immediately.
// Otherwise another process sends them within 250 ms. [github.com/formsvc/formsvc.WithSecretCipher] encrypts the stored
// secrets.
//
// A destination that does not respond does not delay other destinations, because each process has two pools of
// requests:
//
//   - The fast pool has 64 slots, for webhooks that respond within half a second.
//   - The slow pool has 4,096 slots. It is for slow webhooks, for new and failing webhooks (at most half of the slots),
//     and for requests to fast webhooks that take longer than 50 ms. A workspace gets no more slots while it uses more
//     than half of the number of free slots.
//
// A webhook has 4 slots, or 1 while it is new or failing. While requests to other hostnames wait, a hostname gets at
// most a quarter of the 64 slots. Therefore, new or failing destinations do not delay other destinations, however many
// there are. While the slow pool has free slots, up to 1,280 requests to fast webhooks can start to hang in the same
// second without delaying others. You can change these numbers in [Config].
//
// An [Observer] receives each attempt and each pause of a webhook. Every 15 s, it also receives the queue's size, the
// age of the oldest due delivery, and whether the slow pool was full. The program in examples/otel exports these values
// to OpenTelemetry. Failed attempts are logged.
//
// # Handlers in the same process
//
// A host can process events in its own program, for example to send email. [Config.Local] contains the handlers, and
// [github.com/formsvc/formsvc.Service.LocalWebhooks] creates webhooks with URLs such as local:mail, for one form or for
// all forms. Their deliveries have the same queue, attempts, log and pauses as all others. The handler gets the request
// that a receiver would get, with the path / and without a network. Its status decides what happens next. An event can
// arrive more than once here, too, because a process can be killed after the handler has returned.
//
// A process delivers only to the handlers that it has. The other deliveries wait for a process that has the handler.
// They do not expire while they wait.
//
// The context of a request ends after [Config.Timeout] (15 s by default). The attempt then counts as a timeout, even if
// the handler continues. A call that has not returned keeps one of the webhook's 4 slots ([Config.InFlightWebhook]) in
// the process. Without a free slot, an attempt fails as a timeout. All webhooks of one handler together have at most
// [Config.InFlight] plus half of [Config.InFlightSlow] such calls. A panic counts as a network error and is logged. A
// handler that panics or hangs therefore delays no other destination, and no submission.
//
// # Allowed destinations
//
// Users choose the URLs to which your servers send requests, so the library sends requests only to public addresses. A
// [Guard] checks each URL when a webhook is created or its URL changes (status 422, code WEBHOOK_URL_REJECTED), and
// again before each delivery. It rejects:
//
//   - schemes other than http and https, credentials, fragments, spaces, backslashes, more than 2048 bytes, and the
//     ports that browsers block (22, 25, 6667 …);
//   - addresses in unusual forms (127.1, 0x7f000001, １２７.０.０.１), zones, and IPv4 inside IPv6;
//   - names of one label, and names below localhost, local, internal, localdomain, home.arpa, lan, svc and invalid;
//   - names with any address that is not public: private, loopback, link-local (cloud metadata), shared, multicast,
//     documentation and reserved addresses, 168.63.129.16 of Azure, everything in IPv6 outside 2000::/3, and tunnels
//     inside 2000::/3 (6to4, Teredo, ISATAP).
//
// For each new connection, the client resolves the name without the search list, and dials only addresses that it has
// checked. It does not use the environment's proxies and does not follow redirects. It requires TLS 1.2 or later with a
// verified certificate, and uses HTTP/1.1. An attempt ends within [Config.Timeout] (15 s by default), and reads at most
// 64 kB of headers and 64 kB of the body. Users see only timeout, network, redirect or status as the cause of a
// failure. Your log contains the exact cause. [NewClient] returns a client with the same restrictions for your own
// requests.
//
// [Config.AllowedNetworks] lists additional prefixes that webhooks can reach, for development (127.0.0.1/32, ::1/128)
// and for receivers on your premises. Names that resolve only to these prefixes can have any form. Every user who can
// create a webhook can then reach these networks, on all ports except the blocked ports. Use the narrowest prefixes.
//
// Some public addresses should not be reachable either: your own services (such as a load balancer), public ranges that
// your network uses privately, and your provider's NAT64 or 6rd prefixes. Add the addresses that you know to
// [Config.DeniedNetworks]. For all other addresses, use a firewall or a network policy that allows the dispatcher's
// process to reach only the internet. For this, you can run the dispatcher in a separate process. The client supports
// no proxies except transparent proxies.
//
// # Monitoring
//
//   - Log entries "webhook attempt failed" whose error contains "is not allowed": a name was public when the webhook
//     was created, but now resolves to a private address, by mistake or as an attack.
//   - Many WEBHOOK_URL_REJECTED errors from one key.
//   - The age of the oldest due delivery.
//   - [InFlight].SlowFullFor: while it grows, hanging destinations delay other destinations. Increase
//     [Config.InFlightSlow] or add a process.
//   - Entries "Unsolicited response received on idle HTTP channel" in the standard logger of package log, not in the
//     service's logger. net/http writes them if a receiver sends more data after its response. These entries contain at
//     most 1 kB of this data, or 4 kB with quoting.
//
// # Implementation
//
//	ClaimDeliveries or Dispatch → the scheduler →  a request  → FinishDeliveries
//	run.go    direct_dispatch.go       run.go       delivery.go       run.go
//
// Package internal/scheduler decides which deliveries to claim, send and record, and when. Under one lock, a run
// (run.go) passes events to the scheduler and starts the resulting actions. Claims, requests and writes run in separate
// goroutines, which report their results as events. [NewDispatcher] is only for the root package.
//
// [example Receiver]: https://pkg.go.dev/github.com/formsvc/formsvc/webhooks#example-package-Receiver
package webhooks
