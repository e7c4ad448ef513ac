// Package formsvc is a form backend that a Go program embeds: workspaces, forms
// with ordered blocks, submissions, funnel analytics, signed webhooks and scoped
// API keys, as an [http.Handler].
//
// # Parts
//
// [New] returns a [Service]. It is the handler of the HTTP API, it has the Go
// calls that the API does not offer ([Service.Submit], [Service.CreateKey] and
// others), and it holds the Dispatcher that sends webhooks in the background.
// The host picks the storage: package storage/memory or storage/postgres, or one
// of its own that package storage/storagetest proves.
//
//	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
//	...
//	mux.Handle("/v1/", svc)
//	go svc.Dispatcher().Run(ctx)
//
// # What it never does
//
// New starts no goroutine and opens no connection. The service registers nothing
// global, reads no environment, writes no log unless it is given a logger, and
// never closes what the host gave it.
package formsvc
