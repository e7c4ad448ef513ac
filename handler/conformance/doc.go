// Package conformance tests a mounted formsvc service over HTTP. It checks that the server at a base URL keeps
// the promises of the API. Hosts can use any way of mounting, any storage and any key resolver.
//
// A host writes one test:
//
//	func TestAPI(t *testing.T) {
//		conformance.Run(t, func(t *testing.T) conformance.Target {
//			svc := newService(t) // the host's own setup
//			srv := httptest.NewServer(svc)
//			t.Cleanup(srv.Close)
//			return servicetarget.New(svc, srv.URL+"/v1")
//		})
//	}
//
// To test a running server, a host needs only an API key. See the command remote below this package:
//
//	go run github.com/formsvc/formsvc/handler/conformance/remote -url https://api.example.com/v1
//
// The suite uses only HTTP responses and the functions of [Target]. These functions do what the HTTP API
// does not support: create keys, add members and store submissions. If a function is missing, the suite skips the
// cases that need it and reports the reason.
//
// Every case creates its own users and reads only their data. One target can therefore serve all cases in
// parallel, and can contain other data. Only cases that change the clock ([Target].Advance) run alone. If the
// target has no CreateKey, cases that need only one user run as the user of its Key, and delete the data that
// they create. The report starts with the number of cases that ran, and lists what the target needs for the others.
//
// # Requests that the service sends
//
// The suite makes the service send webhooks only to the suite itself. Enabled webhooks use a receiver of the
// suite ([Target].ReceiverURL); if it is nil, the suite skips cases that need it. All other webhooks are
// created disabled, and stay disabled. They also use a receiver. Without a receiver, they use the literal
// address 93.184.215.14, which is public but is never called. The case webhooks/url-accepted uses such
// literals to check that public addresses are accepted. It creates its webhooks disabled and deletes them. The
// case webhooks/url-unresolved uses a hostname below .invalid, which does not exist (RFC 6761). Package
// webhooks rejects it without a lookup; another service may query its name server.
//
// # Checks of every response
//
// In every case, each response must have a request ID. The API description must declare its status,
// headers and schema. An error must have the documented format. The response to a request with a key must forbid
// caching. No response may contain a key or a signing secret.
//
// # Responses from other servers
//
// A proxy, a gateway or the host's own routing may respond instead of the service. The suite then skips the case
// with this response as the reason, because the case has not tested the service. A response counts as
// from another server if all of the following is true:
//
//   - It is not a success, has no X-Request-ID, and its body is not an API error.
//   - The same request without its key also gets such a response. The service would return 401 before all
//     other checks. For a 502, 503 or 504, it is enough that a repeated request succeeds.
//   - For a path below the base path, its status is not one that only the service may return. A 401, 404, 405,
//     500, 501 or a redirect is an error. Requests with another Host are excepted. Without [Target].RawPaths,
//     requests with an unclean path or an unknown method are excepted too.
//   - GET /me gets another response. If it gets the same one, the case is broken, because no request reaches
//     the service.
//
// If the server has closed an idle connection, the suite sends the request again on a new one.
//
// # Failures
//
// A failed case shows the request and the response, without keys and signing secrets. If the suite cannot
// continue, it reports the case as broken instead of failed. This happens if a function of the target returns
// an error, or if the server is unreachable. A server that accepts a request but does not respond fails.
//
// [Check] runs the same cases without testing.T and returns a report that you can encode as JSON.
package conformance
