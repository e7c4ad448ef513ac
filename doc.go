// Package formsvc is a form backend that a Go program embeds: workspaces, forms with
// ordered blocks, submissions, funnel analytics, signed webhooks and scoped API keys, as an
// [http.Handler].
//
// The example [A product in an afternoon] is a program with sessions, PostgreSQL, pages, exports,
// webhooks and erasure. "go doc -http" shows the examples of a package, go doc alone does not.
//
// # A whole use
//
// This program makes a form, shows it to respondents and serves the API:
//
//	package main
//
//	import (
//		"context"
//		"encoding/json"
//		"log"
//		"net/http"
//
//		"github.com/formsvc/formsvc"
//		"github.com/formsvc/formsvc/handler/formpage"
//		"github.com/formsvc/formsvc/storage/memory"
//	)
//
//	func main() {
//		ctx := context.Background()
//		svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
//		check(err)
//		ann := svc.As(formsvc.UserIDFrom("user 1")) // the user ID in your product
//		workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Customers"})
//		check(err)
//		form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Feedback",
//			Definition: formsvc.Definition{Blocks: json.RawMessage(`[
//				{"id": "score", "type": "nps", "label": "Would you recommend us?"}]`)}})
//		check(err)
//		_, err = ann.PublishForm(ctx, form.ID)
//		check(err)
//		pages, err := formpage.New(svc, formpage.Config{})
//		check(err)
//
//		mux := http.NewServeMux()
//		mux.Handle("/v1/", svc)      // the HTTP API
//		mux.Handle("/f/", pages)     // the form pages
//		go svc.Dispatcher().Run(ctx) // sends the webhooks
//		log.Println("http://127.0.0.1:8080/f/" + form.PublicID)
//		log.Fatal(http.ListenAndServe("127.0.0.1:8080", mux))
//	}
//
//	func check(err error) {
//		if err != nil {
//			log.Fatal(err)
//		}
//	}
//
// # The parts by name
//
//   - [New] makes the [Service] with its options, of which [WithStorage] is required: package
//     [github.com/formsvc/formsvc/storage/memory],
//     [github.com/formsvc/formsvc/storage/postgres], whose Migrate makes the tables, or a
//     storage of your own, which [github.com/formsvc/formsvc/storage/storagetest] proves.
//   - The Service is the HTTP API. [Service.As] and [Service.AsHost] do the same in Go: by the
//     same rules and storage calls, and with [Service.Using] in a host's own transaction.
//     [DecodeForm] and [DecodeAnswers] make Go values of stored JSON.
//   - Users are yours: [UserIDFrom] makes ids of your ids. [Service.CreateKey] makes API
//     keys; [WithKeyResolver] takes the sessions that you have, see below. examples/tenants is
//     for several customers on one pool.
//   - Respondents have no keys. Package [github.com/formsvc/formsvc/handler/formpage] shows
//     forms and takes responses. A page of your own calls [Service.PublicForm],
//     [Service.RecordView], [Service.RecordStart], [Service.Path] and [Service.Submit], and
//     [Service.SavePartial] and [Service.ResumePartial] for respondents who go on later. What
//     answers look like, and what the rules of a form mean, is in package
//     [github.com/formsvc/formsvc/schema].
//   - [Client.Export] streams responses as CSV or NDJSON, [Service.ExportHandler] does so over
//     HTTP, and [Client.Summary] counts the answers by block.
//   - [Service.Dispatcher] sends webhooks; package [github.com/formsvc/formsvc/webhooks] says
//     how, and what receivers do. [Service.Redeliver] sends an event again, and
//     [Service.RedeliverFailed] all that failed.
//   - [Service.DeleteUser] removes a user with everything that is theirs,
//     [Service.EraseRespondent] the responses with given answers,
//     [Service.PurgeSubmissions] responses that are too old, and [Service.PurgeTrash] forms
//     that were deleted; [WithFiles] has their files removed too. [Service.RestoreForm] brings
//     a form back.
//   - The comment of [Client] has the errors of the Go calls, and the HTTP status of each.
//     Package [github.com/formsvc/formsvc/handler] has the paths of the API with the Go call
//     that does the same.
//   - [Service.Maintain] is for a deployment without a running dispatcher. [Service.Check]
//     says what a deployment lacks: tables, rights, settings, dispatcher, maintenance.
//   - [github.com/formsvc/formsvc/handler/builder] has the pages in which owners make forms and
//     read what came in, behind the host's own sign-in. [Client.ServeHTTP] is the API for a user who is
//     signed in, without a key.
//   - [github.com/formsvc/formsvc/handler/docs] shows the API description to people,
//     [github.com/formsvc/formsvc/handler/conformance] tests your mount, and
//     [github.com/formsvc/formsvc/handler/apicheck] compares what your clients send with the description.
//
// # What the service never does
//
// [New] starts no goroutine and opens no connection. The service registers nothing global,
// reads no environment, writes no log unless it is given a logger, and never closes a part
// that the host gave it. [Service.Close] stops the parts that were started lazily.
//
// # Mounting
//
// The service finds its paths wherever it is mounted: on the standard mux with or without
// [http.StripPrefix], in a chi router by Mount, Route or Handle, or at a server's root. A
// base path other than /v1 is [WithBasePath]; a prefix in front of it, or an absolute
// address for links, is [WithBaseURL]. Links and Location headers never repeat the request's
// Host header.
//
// The time-outs of the server are the host's: without ReadTimeout and WriteTimeout a client
// that sends or reads a byte now and then holds a connection for ever. A middleware whose
// [http.ResponseWriter] wraps another one has the method Unwrap() http.ResponseWriter: without
// it the WriteTimeout cuts exports ([Service.ExportHandler]). [http.TimeoutHandler] buffers whole
// responses, also exports: mount these outside of it.
//
// Each key may make 600 requests a minute, counted in this process, unless [WithRateLimit]
// or [WithLimiter] says otherwise. Nobody limits requests with unknown keys: limit them by
// address, in the proxy or in a middleware in front.
//
// CORS and compression are the host's. A host that serves browsers exposes ETag, Location,
// X-Request-ID, Retry-After, RateLimit and RateLimit-Policy. API keys do not belong in
// browsers.
//
// After a call Request.Pattern is the operation's path as the description has it, behind the
// base path and without the method: /v1/forms/{formId}. Metrics and traces group requests by
// it. A request that is no operation keeps the pattern of the host's mux. A middleware sees
// the pattern unless something between it and the service copies the request, as
// http.StripPrefix, a chi router and Request.WithContext do: then it stands inside of that.
//
// # Sessions and keys
//
// Without options the API takes the keys of [Service.CreateKey], in X-API-Key or as a bearer
// token. A host whose users have sessions gives two functions, and the example of
// [WithKeyResolver] has both in full:
//
//   - [WithCredential] says where a credential stands. It asks [Credential] first, and takes the
//     cookie of the session only where that finds no key.
//   - [WithKeyResolver] says whose credential it is. A session becomes a [Principal]; everything
//     else goes on to [Service.ResolveKey], or no API key is accepted any more. [ErrInvalidKey] is
//     status 401, any other error 503.
//
// The resolver needs the service, and [New] needs the resolver: New calls no resolver, so the
// service is put into the resolver after New and before the first request.
//
// Principal.KeyID stands in the rate limiter's store, and callers with one KeyID share a limit.
// Make it of the session's id or of a digest of the cookie, never of the cookie itself.
// Principal.UserID is [UserIDFrom] of the user's id in the product, as for [Service.As].
//
// Browsers send cookies along with requests that other sites cause, so a host that takes a
// cookie puts [http.CrossOriginProtection] in front of the service and of
// [Service.ExportHandler]. examples/auth is a whole product with users.
//
// # Polling
//
// A submission has the time at which it was made, and becomes visible when its transaction is
// committed: a host's transaction can take long, imports have older times, and the clocks of
// processes differ. So a program that polls and continues at the last submitted_at that it has read
// loses submissions. The safe way is to read the last minutes again each time (longer than the
// longest transaction and the difference of the clocks), and to drop the ids that it knows, as the
// [example Polling] does. What must not be lost is received by a webhook: its delivery is part of
// the submission's transaction.
//
// # Stopping
//
// A process that is told to stop ends its parts in this order, as the [example Stopping] does:
//
//  1. The server, by its Shutdown: no request comes in, and those under way end. An export may
//     take longer than the time that Shutdown is given; Close of the server then cuts it.
//  2. The dispatcher, by its own context, and wait until Run has returned: deliveries under way
//     have 10 seconds to end, and Run returns after 16 seconds at the latest. The context is not
//     the one that the signal ends: the dispatcher would stop while responses still come.
//  3. The service: [Service.Close] writes pending views, starts and last uses of keys, which takes
//     a moment.
//  4. What the host gave the service: the pool.
//
// So a process stops within 30 seconds when Shutdown is given 10. In the wrong order, or killed,
// it loses nothing that was acknowledged: deliveries wait for the next process. Views and starts
// of the last 250 ms may be lost, and a delivery that was under way may come twice.
//
// # Log lines
//
// The lines of [WithLogger] have one set of keys:
//
//	error, panic, stack                  what went wrong
//	request_id, method, operation        a request of the API
//	path, base_path                      a request at another path than the service's
//	form, webhook, event, delivery       ids
//	attempt, class, duration, retry_in   an attempt to deliver
//	reason, failures, since, until       a pause of a webhook
//	lacks                                what a form's page has no part for
//	origin, host                         a request from a page of another origin that was refused
//	deliveries, results, values          how many
//
// [A product in an afternoon]: https://pkg.go.dev/github.com/formsvc/formsvc#example-package-Afternoon
// [example Polling]: https://pkg.go.dev/github.com/formsvc/formsvc#example-package-Polling
// [example Stopping]: https://pkg.go.dev/github.com/formsvc/formsvc#example-package-Stopping
package formsvc
