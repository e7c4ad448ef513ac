// Package formsvc is a form backend that you embed in a Go program. It provides workspaces, forms with ordered blocks,
// submissions, funnel analytics, signed webhooks and scoped API keys as one [http.Handler]. The example [A product in
// an afternoon] shows a complete program with sessions, PostgreSQL, form pages, exports, webhooks and erasure.
//
// # A first program
//
// This program creates a form, serves its page and serves the API:
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
// # Overview
//
//   - [New] creates the [Service]. Its only required option is [WithStorage]. Use package
//     [github.com/formsvc/formsvc/storage/memory], [github.com/formsvc/formsvc/storage/postgres], whose Migrate creates
//     the tables, or your own storage. Test your own storage with [github.com/formsvc/formsvc/storage/storagetest].
//   - The Service is the handler for the HTTP API. [Service.As] and [Service.AsHost] provide the same operations in Go.
//     [Service.WithStorage] runs these operations in a host's own transaction. [DecodeForm] and [DecodeAnswers] convert
//     stored JSON to Go values.
//   - [Client.EnsureForm] creates and updates forms that are in your source code, with IDs of your choice.
//     [Service.ParseForm] reads a form that the builder downloaded.
//   - Your product manages the users. [UserIDFrom] converts your user IDs. [Service.CreateKey] creates API keys. With
//     [WithKeyResolver], the API accepts your sessions (see below). The program in examples/tenants serves several
//     customers with one connection pool.
//   - Respondents need no keys. Package [github.com/formsvc/formsvc/handler/formpage] renders forms and accepts
//     submissions. Your own pages call [Service.PublicForm], [Service.RecordView], [Service.RecordStart],
//     [Service.Path] and [Service.Submit]. [Service.SavePartial] and [Service.ResumePartial] let respondents continue
//     later. Package [github.com/formsvc/formsvc/schema] documents answers and rules.
//   - [Client.Export] writes submissions as CSV or NDJSON, and [Service.ExportHandler] serves them over HTTP.
//     [Client.Summary] counts the answers to each block.
//   - [Service.LocalWebhooks] passes submissions to handlers in your own program, with retries.
//   - [Service.Dispatcher] sends webhooks. Package [github.com/formsvc/formsvc/webhooks] explains them for hosts and
//     receivers. [Service.Redeliver] and [Service.RedeliverFailed] send events again.
//   - If respondents are signed in to your product, pass your ID of the respondent ([SubmitParams].Respondent).
//     [Service.SubmissionsOf] then lists a respondent's submissions to all forms, and [Service.EraseRespondentData]
//     removes them. A form can accept one submission of each respondent (settings.onePerRespondent).
//   - [Service.DeleteUser] removes a user and all of the user's data. [Service.EraseRespondent] removes submissions
//     with given answers, [Service.PurgeSubmissions] removes old submissions, and [Service.PurgeTrash] removes forms in
//     the trash. With [WithFiles], the files of removed submissions are removed too. [Service.RestoreForm] restores a
//     form from the trash.
//   - The documentation of [Client] lists the errors of the Go API with their HTTP statuses. Package
//     [github.com/formsvc/formsvc/handler] lists the API's paths with the equivalent Go methods.
//   - [Service.Check] reports deployment problems. If no dispatcher runs, call [Service.Maintain].
//   - Package [github.com/formsvc/formsvc/handler/builder] is the builder, in which users create forms and read
//     results. It uses the host's own sign-in. [Client.ServeHTTP] serves the API to a signed-in user, without a key.
//   - Package [github.com/formsvc/formsvc/handler/docs] renders the API description as a page,
//     [github.com/formsvc/formsvc/handler/conformance] tests your mounted service, and
//     [github.com/formsvc/formsvc/handler/apicheck] checks your clients' requests against the API description.
//
// # No side effects
//
// [New] starts no goroutine and opens no connection. The service registers nothing globally, reads no
// environment variables, and logs only to the logger that you provide. It closes nothing that you provide.
// [Service.Close] stops goroutines that start on first use.
//
// # Mounting
//
// You can mount the service on the standard mux with or without [http.StripPrefix], in a chi router with Mount, Route
// or Handle, or at the root of a server. The pattern must include all paths below the base path, such as /v1/ in the
// standard mux and /v1/* in a chi router's Handle. [WithBasePath] sets a base path other than /v1. [WithBaseURL] adds a
// prefix before the base path, or makes links absolute. If the host strips such a prefix, WithBaseURL must contain it.
// Links and Location headers never contain the request's Host header. With gin, echo or another router, register the
// service for all methods of both patterns, such as /v1/*any in gin with gin.WrapH.
//
// If a proxy removes a prefix /x, links must still contain it. For the service, use WithBaseURL("/x"). The BasePath of
// form pages and of the builder is then the path that browsers see, such as /x/f, and the handler expects it to be
// removed completely: mount it as http.StripPrefix("/f", pages).
//
// Do not put your sign-in before the service. It answers 401 itself, in the format of the API. If middleware must
// find the user first, it puts the user into the request's context, and the two functions below read it from there.
//
// Set the server's ReadTimeout and WriteTimeout. Otherwise, a slow client can hold a connection forever. For exports
// and middleware, see [Service.ExportHandler].
//
// By default, each key can make 600 requests a minute, counted per process. To change this, use [WithRateLimit] or
// [WithLimiter]. The service does not limit requests with unknown keys. Limit them by IP address, in a proxy or
// middleware.
//
// The host provides CORS and compression. Expose the headers ETag, Location, X-Request-ID, Retry-After, RateLimit and
// RateLimit-Policy to browsers. Do not use API keys in browsers.
//
// To group metrics and traces by operation, read Request.Pattern after the service has handled the request. It contains
// the operation's path without the method, such as /v1/forms/{formId}. If no operation matches, it still contains the
// pattern of the host's mux. Middleware does not see the pattern if it wraps a handler that copies the request
// (http.StripPrefix, a chi router, Request.WithContext). In this case, wrap the service directly.
//
// # Sessions and keys
//
// By default, the API accepts keys created by [Service.CreateKey], in the X-API-Key header or as a bearer token. If
// your users have sessions, provide two functions, as in the example of [WithKeyResolver]:
//
//   - [WithCredential] sets the function that finds the credential in a request. This function calls [Credential]
//     first, and uses the session cookie only if there is no key.
//   - [WithKeyResolver] sets the function that finds the user of a credential. It returns a [Principal] for a session,
//     and calls [Service.ResolveKey] for every other credential. Without this call, the service accepts no API keys.
//     [ErrInvalidKey] results in status 401, and any other error in status 503.
//
// The resolver needs the service, and [New] needs the resolver. New does not call the resolver, so you can
// pass the service to the resolver after New and before the first request.
//
// Callers with the same Principal.KeyID share a rate limit. The limiter's store contains the KeyID, so derive the KeyID
// from the session ID or from a digest of the cookie, and never use the cookie itself. Set Principal.UserID to the
// result of [UserIDFrom] for your product's user ID, as for [Service.As].
//
// Browsers also send cookies with requests from other sites. If you accept a cookie, wrap the service and
// [Service.ExportHandler] in [http.CrossOriginProtection]. For a complete product with users, see examples/auth.
//
// If middleware has already put the user into the request's context, let the function of WithCredential return a
// constant for requests without a key, and let the resolver read the user from its context. Do not derive the user from
// the credential, because clients choose it: an X-API-Key header can contain anything.
//
// # Companies, teams and roles
//
// A workspace has one owner and any number of members. If your customers are companies, let the company own the
// workspace: UserIDFrom("company/7"). Add its people with [Service.AddMember] when they sign in for the first time, and
// give them no scope workspaces:write. [Service.DeleteUser] with the company's ID then deletes everything of the
// company. The package has no groups or roles: compute a user's scopes from your own ([Client.With], [Principal], and
// Config.Scopes of the builder), and add and remove members when a directory changes. A user needs to be a member and
// to have the scopes.
//
// # Approvals and audits
//
// The builder, edit links and your program change submissions with one method of the storage, UpdateSubmission. To
// refuse changes after a decision, or to write your own row in the same transaction, wrap the storage and override this
// method, as examples/storage does for an audit log. [Client.SubmissionHistory] has the earlier states with the user who
// replaced them, and [Client.Versions] has those of a form. Changes by [Service.AsHost] have no user.
//
// # Request IDs
//
// The service takes over a request's X-Request-ID of 1 to 100 letters, digits, periods, underscores and hyphens, and
// replaces any other without a log line. For example, chi's middleware.RequestID creates IDs with a slash. Responses,
// error bodies and log lines contain the ID. To use your own, set the header before the request reaches the service.
//
// # Polling
//
// A program that polls for submissions after the last submitted_at misses some of them. A submission becomes visible
// only when its transaction commits. Also, imports have older times, and the clocks of processes differ. Read the last
// minutes again each time, and ignore known IDs, as the [example Polling] does. The period that you read again must be
// longer than the longest transaction plus the clock difference. If you must not miss a submission, use a webhook,
// because its delivery is part of the submission's transaction. A poll does not see that an earlier submission was changed
// ([Client.UpdateSubmission]) or deleted. A webhook with [WebhookCreate].Updates reports changes, but nothing reports
// deletions.
//
// # Graceful shutdown
//
// Stop a process in this order, as the [example Stopping] does:
//
//  1. The server: Shutdown completes requests in flight. If an export takes longer than Shutdown's timeout, the
//     server's Close truncates it.
//  2. The dispatcher: cancel its own context, and wait until Run returns. Deliveries in flight have 10 seconds to
//     finish, and Run returns within 16 seconds. Do not use the context that the signal cancels, because the dispatcher
//     would stop while submissions still arrive.
//  3. The service: [Service.Close] writes pending views, starts and key usage times. This is fast.
//  4. The resources that you gave to the service, such as the connection pool.
//
// With a Shutdown timeout of 10 seconds, a process stops within 30 seconds. If you use another order or kill the
// process, no acknowledged submission is lost, and the next process sends the pending deliveries. The views and starts
// of the last 250 ms may be lost, and deliveries in flight may be sent twice.
//
// # Logs
//
// Log entries (see [WithLogger]) use these keys:
//
//	error, panic, stack                  the error
//	request_id, method, operation        a request of the API
//	path, base_path                      a request outside of the base path
//	form, webhook, event, delivery       IDs
//	attempt, class, duration, retry_in   a delivery attempt
//	reason, failures, since, until       a pause of a webhook
//	lacks                                missing parts of a form page
//	name, warnings                       a list, check, handler or form of the host
//	origin, host                         a rejected request from a page of another origin
//	deliveries, results, values          counts
//
// [A product in an afternoon]: https://pkg.go.dev/github.com/formsvc/formsvc#example-package-Afternoon
// [example Polling]: https://pkg.go.dev/github.com/formsvc/formsvc#example-package-Polling
// [example Stopping]: https://pkg.go.dev/github.com/formsvc/formsvc#example-package-Stopping
package formsvc
