package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sethvargo/go-limiter"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// session is who sends a token: a user of a tenant. Sub is unique within its tenant only.
type session struct {
	Tenant, Sub string
	ReadOnly    bool // whether the user can only read
}

// sessions are the product's, by token.
type sessions map[string]session

// name names the user among the users of all tenants. No tenant has a slash in its name,
// so no two users have one name.
func (s session) name() string { return s.Tenant + "/" + s.Sub }

// principal is the user as formsvc knows it. Both ids have the tenant in them: a service's
// limiter counts by KeyID, and what a user owns is found by UserID. In one service for all
// tenants, two whose users have one Sub would share both.
func (s session) principal() formsvc.Principal {
	scopes := formsvc.Scopes()
	if s.ReadOnly {
		scopes = slices.DeleteFunc(scopes, func(s formsvc.Scope) bool { return strings.HasSuffix(string(s), ":write") })
	}
	return formsvc.Principal{KeyID: s.name(), UserID: formsvc.UserIDFrom(s.name()), Name: s.Sub, Scopes: scopes}
}

// resolver knows the sessions of one tenant, or with an empty tenant the sessions of
// all tenants.
type resolver struct {
	tenant   string
	sessions sessions
}

// ResolveKey implements [formsvc.KeyResolver].
func (r resolver) ResolveKey(_ context.Context, token string) (formsvc.Principal, error) {
	s, ok := r.sessions[token]
	if !ok || r.tenant != "" && s.Tenant != r.tenant {
		return formsvc.Principal{}, formsvc.ErrInvalidKey
	}
	return s.principal(), nil
}

// host is the product.
type host struct {
	routes   *http.ServeMux
	services []*formsvc.Service
	prefix   func(tenant string) string // of the tenant's paths
}

// mount adds a service's API, form pages and builder below a prefix. The API and the builder grant the same scopes. The
// form pages of all tenants have one origin, so no tenant may run its own CSS, or show pages of other hosts in its forms.
func (h *host) mount(service *formsvc.Service, prefix string, known resolver) error {
	h.services = append(h.services, service)
	pages, err := formpage.New(service, formpage.Config{BasePath: prefix + "/f", Secret: []byte("of all processes, 16 bytes or more")})
	if err != nil {
		return err
	}
	principal := func(r *http.Request) (formsvc.Principal, error) {
		cookie, err := r.Cookie("session")
		if err != nil {
			return formsvc.Principal{}, err
		}
		return known.ResolveKey(r.Context(), cookie.Value)
	}
	owners, err := builder.New(service, builder.Config{
		BasePath: prefix + "/forms",
		Pages:    pages,
		User: func(r *http.Request) (formsvc.ID, error) {
			p, err := principal(r)
			return p.UserID, err
		},
		Scopes: func(r *http.Request, _, _ formsvc.ID) ([]formsvc.Scope, error) {
			p, err := principal(r)
			return p.Scopes, err
		},
		Offer: builder.Offer{NoCustomCSS: true, BlockTypes: safeBlockTypes()},
	})
	if err != nil {
		return err
	}
	h.routes.Handle(prefix+"/v1/", service)
	h.routes.Handle(prefix+"/f/", pages)
	h.routes.Handle(prefix+"/forms/", owners)
	return nil
}

// safeBlockTypes are all types of blocks that show nothing from other hosts.
func safeBlockTypes() (types []string) {
	for b := range schema.BlockTypes() {
		if b.Type != schema.TypeEmbed && b.Type != schema.TypeVideo && b.Type != schema.TypePDF {
			types = append(types, b.Type)
		}
	}
	return types
}

// contact is a form as the builder downloads it.
//
//go:embed contact.json
var contact []byte

// ensureContact gives a new tenant a contact form with the page /f/contact-{tenant}, and updates it at later starts if
// contact.json has changed and no user has edited the form. The form's workspace belongs to no user of the tenant, so
// that it remains when users leave. A product with several processes calls it once when it creates the tenant.
func ensureContact(ctx context.Context, service *formsvc.Service, tenant string, known sessions) error {
	form, err := service.ParseForm(contact)
	if err != nil {
		return err
	}
	form.PublicID = "contact-" + tenant // unique in the service, which other tenants may share
	owner := service.As(session{Tenant: tenant}.principal().UserID)
	for workspace, err := range owner.Workspaces(ctx, formsvc.Query{}) {
		if err != nil {
			return err
		}
		form.Workspace = workspace.ID
	}
	if form.Workspace.IsZero() {
		workspace, err := owner.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: tenant})
		if err != nil {
			return err
		}
		form.Workspace = workspace.ID
	}
	for _, user := range known {
		if user.Tenant == tenant {
			if err := service.AddMember(ctx, form.Workspace, user.principal().UserID); err != nil {
				return err
			}
		}
	}
	_, err = service.AsHost().EnsureForm(ctx, form)
	if errors.Is(err, formsvc.ErrConflict) {
		return nil // a user has moved the form to the trash or to another workspace
	}
	return err
}

// opener opens the storage that lies in a schema.
type opener func(ctx context.Context, schema string) (storage.Storage, error)

// oneEach gives each tenant a schema and a service of its own, below /t/{tenant}.
//
// A tenant can be backed up, moved and removed alone, and no fault of the product shows
// one tenant's data to another: its service has no way to them. The price is a dispatcher and
// caches for each, so this is for some hundred tenants, not for ten thousand.
func oneEach(ctx context.Context, names []string, known sessions, open opener, limit limiter.Store) (*host, error) {
	h := &host{routes: http.NewServeMux(), prefix: func(tenant string) string { return "/t/" + tenant }}
	for _, name := range names {
		store, err := open(ctx, "tenant_"+name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		service, err := formsvc.New(
			formsvc.WithStorage(store),
			formsvc.WithBaseURL(h.prefix(name)),
			formsvc.WithKeyResolver(resolver{name, known}),
			formsvc.WithLimiter(limit),
		)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(h.mount(service, h.prefix(name), resolver{name, known}), ensureContact(ctx, service, name, known)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return h, nil
}

// allInOne keeps all tenants in one schema behind one service. The user's id, which has the
// tenant in it, decides which data the user sees.
//
// Any number of tenants costs as much as one tenant. The product must not make a user a
// member of another tenant's workspace, and what [formsvc.Service.AsHost] lists is
// everybody's. A tenant is removed by a call of DeleteUser for each of its users.
func allInOne(ctx context.Context, names []string, known sessions, open opener, limit limiter.Store) (*host, error) {
	store, err := open(ctx, "tenants")
	if err != nil {
		return nil, err
	}
	service, err := formsvc.New(
		formsvc.WithStorage(store),
		formsvc.WithKeyResolver(resolver{sessions: known}),
		formsvc.WithLimiter(limit),
	)
	if err != nil {
		return nil, err
	}
	h := &host{routes: http.NewServeMux(), prefix: func(string) string { return "" }}
	err = h.mount(service, "", resolver{sessions: known})
	for _, name := range names {
		err = errors.Join(err, ensureContact(ctx, service, name, known))
	}
	return h, err
}
