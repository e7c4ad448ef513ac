// Package formsvc is a form backend that a Go program embeds: workspaces, forms with
// ordered blocks, submissions, funnel analytics, signed webhooks and scoped API keys, as an
// [http.Handler].
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
//		ann := svc.As(formsvc.UserIDFrom("user 1")) // your own user id
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
//		mux.Handle("/v1/", svc)      // the API
//		mux.Handle("/f/", pages)     // the pages of respondents
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
//     keys; [WithKeyResolver] takes the sessions that you have. See examples/auth, and
//     examples/tenants for several customers on one pool.
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
//   - [Service.Maintain] is for a deployment without a running dispatcher. [Service.Check]
//     says what a deployment lacks: tables, rights, settings, dispatcher, maintenance.
//   - [github.com/formsvc/formsvc/handler/docs] shows the API description to people, and
//     [github.com/formsvc/formsvc/handler/conformance] tests your mount.
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
// that sends or reads a byte now and then holds a connection for ever. A host that stops ends
// its server first, then the dispatcher, then the service: see examples/mount.
//
// Each key may make 600 requests a minute, counted in this process, unless [WithRateLimit]
// or [WithLimiter] says otherwise. Nobody limits requests with unknown keys: limit them by
// address, in the proxy or in a middleware in front.
//
// CORS and compression are the host's. A host that serves browsers exposes ETag, Location,
// X-Request-ID, Retry-After, RateLimit and RateLimit-Policy. API keys do not belong in
// browsers. Browsers send cookies along with requests that other sites cause: a host whose
// [WithCredential] reads a cookie puts [http.CrossOriginProtection] in front.
//
// After a call Request.Pattern is the operation's path as the description has it, behind the
// base path and without the method: /v1/forms/{formId}. Metrics and traces group requests by
// it. A request that is no operation keeps the pattern of the host's mux. A middleware sees
// the pattern unless something between it and the service copies the request, as
// http.StripPrefix, a chi router and Request.WithContext do: then it stands inside of that.
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
//	origin, host                         a post to a page that was refused
//	deliveries, results, values          how many
package formsvc
