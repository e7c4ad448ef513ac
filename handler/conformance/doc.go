// Package conformance tests a mounted formsvc service over real HTTP: the server under
// a base URL has to keep the promises of the API. It does not matter how a host has
// mounted the service, or which storage and key resolver it has.
//
// A host writes one test:
//
//	func TestAPI(t *testing.T) {
//		conformance.Run(t, func(t *testing.T) conformance.Target {
//			svc := newService(t) // the host's own wiring
//			srv := httptest.NewServer(svc)
//			t.Cleanup(srv.Close)
//			return servicetarget.New(svc, srv.URL+"/v1")
//		})
//	}
//
// A host without such a test can point the suite at a running server, with a key
// and nothing else; see the command remote below this package:
//
//	go run github.com/formsvc/formsvc/handler/conformance/remote -url https://api.example.com/v1
//
// The suite knows the service only by its HTTP answers and by the functions of
// [Target], which do what the HTTP API has no operation for: making keys, adding
// members, storing responses. A case whose function is missing is skipped and
// says so.
//
// Every case works as users that it makes itself and reads nothing but what
// belongs to them. One target therefore serves all cases at once, in parallel,
// and may hold data of others. Only the cases that move the clock
// ([Target].Advance) run alone. With a target that has no CreateKey, the cases that
// can do with one user run as the user of its Key, and delete what they made. The
// report begins with how many cases ran, and what the target would have to offer for the rest.
//
// # What the service sends
//
// The suite makes the service send to nobody but itself. A webhook that is enabled leads
// to a receiver of the suite, by [Target].ReceiverURL; a case that needs one is skipped
// where that is nil. All other webhooks are made disabled, and nothing enables them. They
// lead to a receiver as well. Without a receiver they lead to the literal address
// 93.184.215.14, which belongs to others and is never called. The case
// webhooks/url-accepted shows with such literals that a public address is accepted: its
// webhooks are disabled too, and deleted in the case. The case webhooks/url-unresolved
// names a host below .invalid, which nobody has (RFC 6761). Package webhooks refuses it
// without asking; another service may ask its name server.
//
// # What is checked of every answer
//
// In every case, each answer must carry a request id, and the API description must
// declare it with its status, headers and schema. An error must have the shape of
// errors. An answer to a request with a key must forbid storing. No answer may contain
// a key or a signing secret.
//
// # Answers of others
//
// A proxy, a gateway or the host's own routing may answer instead of the service. The case is
// then skipped, with the answer as the reason, because it has found out nothing about the
// service. An answer counts as one of others when all of this holds:
//
//   - It is no success, has no X-Request-ID, and its body is no error of the API.
//   - The same request without its key gets such an answer too. The service refuses that with
//     401 before it looks at anything else. For a 502, 503 or 504 it is enough that the request
//     succeeds when it is sent again.
//   - Its status is none of those that only the service may give for a path below the base path:
//     401, 404, 405, 500, 501 and redirects are faults. Requests with another Host are
//     excepted, and without [Target].RawPaths those with an unclean path or an unknown method.
//   - GET /me is answered otherwise. When it gets the same, the case is broken: nothing reaches the service.
//
// A request on a connection that the server has closed in the meantime is sent again on a new one.
//
// # Faults
//
// A case that finds a fault shows the request and the answer with it; keys and
// signing secrets in them are replaced. When the suite itself cannot go on (a
// function of the target returns an error, the server cannot be reached), the case
// is reported as broken rather than failed. A server that takes a request and does
// not answer it is at fault.
//
// [Check] runs the same cases without package testing's T and returns a report
// that marshals to JSON.
package conformance
