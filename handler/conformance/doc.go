// Package conformance proves a mounted formsvc service over real HTTP: that what
// answers under a base URL keeps the promises of the API, wherever and however a
// host has mounted it, whichever storage and key resolver it has.
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
// The suite knows the service only by its HTTP answers and by the functions of
// [Target], which do what the HTTP API has no operation for: making keys, adding
// members, storing responses. A case whose function is missing is skipped and
// says so.
//
// Every case works as users that it makes itself and reads nothing but what
// belongs to them. One target therefore serves all cases at once, in parallel,
// and may hold data of others.
//
// # What is checked of every answer
//
// Whatever a case is about, each answer that the suite sees must carry a request
// id, must be declared by the API description with its status, headers and
// schema ([github.com/formsvc/formsvc/schema.Responses]), must have the error
// shape when it is an error, must forbid storing it when a key was used, and must
// not contain a key or a signing secret.
//
// # Faults
//
// A case that finds a fault tells the request and the answer with it; keys and
// signing secrets in them are made unreadable. When the suite itself cannot go on
// (a function of the target returns an error, the server cannot be reached), the
// case is reported as broken rather than failed.
//
// [Check] runs the same cases without package testing's T and returns a report
// that marshals to JSON.
package conformance
