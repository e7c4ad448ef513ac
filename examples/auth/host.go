package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/docs"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/webhooks"
)

// basePath is where the product has the API. Links and the description follow it.
const basePath = "/api/forms/v1"

// host is the product.
type host struct {
	accounts *accounts
	service  *formsvc.Service
	owners   *builder.Handler
	metrics  *metrics
	routes   http.Handler
	logger   *slog.Logger
}

// newHost puts the product together. Nothing runs before serve.
func newHost(a *accounts, store storage.Storage, m *mailer, hooks webhooks.Config, logger *slog.Logger, opts ...formsvc.Option) (*host, error) {
	keys, customers := &resolver{accounts: a}, directory{a.pool}
	hooks.Local = map[string]http.Handler{"mail": m}
	service, err := formsvc.New(append([]formsvc.Option{
		formsvc.WithStorage(store),
		formsvc.WithBasePath(basePath),
		formsvc.WithKeyResolver(keys),
		formsvc.WithCredential(credential),
		formsvc.WithLogger(logger),
		formsvc.WithWebhookConfig(hooks),
		formsvc.WithChoices("customers", "Customers", customers),
		formsvc.WithCheck("customer_number", "Customer number", customers.checkNumber),
	}, opts...)...)
	if err != nil {
		return nil, err
	}
	keys.service, m.service = service, service

	pages, err := formpage.New(service, formpage.Config{
		// A product keeps its secret, and all of its processes have the same one.
		Secret: []byte(rand.Text()), Logger: logger,
		Respondent: func(r *http.Request, _ formsvc.PublicForm) (id, displayName string, err error) {
			account, err := a.current(r)
			if errors.Is(err, http.ErrNoCookie) || errors.Is(err, errNoSession) {
				return "", "", nil // anyone can answer forms
			}
			return strconv.FormatInt(account.ID, 10), account.Name, err
		},
		SignIn: http.RedirectHandler("/login", http.StatusSeeOther),
	})
	if err != nil {
		return nil, err
	}
	owners, err := builder.New(service, builder.Config{
		User: func(r *http.Request) (formsvc.ID, error) {
			account, err := a.current(r)
			return account.user().ID, err
		},
		SignIn: http.RedirectHandler("/login", http.StatusSeeOther),
		Pages:  pages, Name: "Product", HomeURL: "/", Logger: logger,
	})
	if err != nil {
		return nil, err
	}

	h := &host{accounts: a, service: service, owners: owners, metrics: newMetrics(), logger: logger}
	mux := http.NewServeMux()
	mux.Handle(basePath+"/", traced(logger, h.metrics.count(service)))
	mux.Handle("/f/", pages)
	mux.Handle("/forms/", owners)
	mux.Handle("GET /docs", docs.Handler(service, basePath+"/openapi.json", docs.Options{HomeURL: "/"}))
	mux.Handle("GET /metrics", h.metrics)
	mux.HandleFunc("GET /{$}", h.showKeys)
	mux.HandleFunc("GET /login", h.showLogin)
	mux.HandleFunc("POST /login", h.login)
	mux.HandleFunc("POST /logout", h.logout)
	mux.HandleFunc("POST /keys", h.createKey)
	mux.HandleFunc("POST /keys/{id}/revoke", h.revokeKey)
	// Writes from pages of other origins end here, those to the API too.
	h.routes = http.NewCrossOriginProtection().Handler(mux)
	return h, nil
}

// serve runs until ctx ends.
func (h *host) serve(ctx context.Context, listener net.Listener, server *http.Server) error {
	server.Handler = h.routes
	delivering, stop := context.WithCancel(context.WithoutCancel(ctx)) // outlives ctx, as examples/mount explains
	defer stop()
	dispatched, served := make(chan error, 1), make(chan error, 1)
	go func() { dispatched <- h.service.Dispatcher().Run(delivering) }()
	go func() { served <- server.Serve(listener) }()
	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	err = errors.Join(err, server.Shutdown(grace))
	stop()
	return errors.Join(err, <-dispatched, h.owners.Close(grace), h.service.Close(grace))
}
