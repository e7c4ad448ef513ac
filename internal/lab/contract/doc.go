// Package contract holds the API description against the programs that people
// point at it: linters, generators of clients, a validating proxy, and a generator
// of requests. Each generated client is compiled in its strictest mode and then
// does a whole piece of work on a running service.
//
//	npm ci && go test ./...
//
// `make contract` does that, on memory and on PostgreSQL. It is a module of its
// own, with the package.json of the programs beside it, so that nothing of them
// reaches a host.
package contract
