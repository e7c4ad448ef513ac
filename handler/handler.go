package handler

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/go-chi/chi/v5"

	"github.com/formsvc/formsvc/internal/apidoc"
	"github.com/formsvc/formsvc/internal/apierror"
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/httpapi"
	"github.com/formsvc/formsvc/storage"
)

// api holds no state of its own between requests.
type api struct {
	config httpapi.Config
	// keys finds out whose key a request carries. If it is a formKeyResolver, operations on one form
	// take key and form in one step.
	keys  KeyResolver
	core  *core.Core
	mount mount
	// fixedLinkBase is what links begin with when that is the same for all requests.
	fixedLinkBase string
	// limiterKey is what the limiter's keys begin with: the name of the service and a "#",
	// which no name has, so that no two services have one key.
	limiterKey string
	routes     *chi.Mux
	// limiterHealth is shared with the copies that on makes.
	limiterHealth     *limiterHealth
	misplacedOnce     *sync.Once            // logs the first request at another path than the base path; shared likewise
	hiddenConnOnce    *sync.Once            // logs the first export whose connection a middleware hides; shared likewise
	runningExports    *sync.Map             // by id, the keys that have an export under way; shared likewise
	operations        map[string]*operation // by method and pattern
	contentOperations map[string]*operation // those of a working copy

	fixed *fixedActor // whom the handler serves, without keys; nil: whoever has a key

	description     []byte
	descriptionETag string
}

// New returns the API for package formsvc, whose Service is the API for hosts: no other module can
// name the type of config. It starts nothing.
//
// on returns the API with another Core. A resolver that keeps its keys in the storage is replaced
// as well; nil leaves it as it is.
func New(config httpapi.Config, keys KeyResolver) (a httpapi.API, on func(*core.Core, KeyResolver) httpapi.API, err error) {
	description, err := apidoc.Describe(config.BaseURL, config.BasePath)
	if err != nil {
		return nil, nil, fmt.Errorf("API description: %w", err)
	}
	digest := sha256.Sum256(description)
	if config.Credential == nil {
		config.Credential = Credential
	}

	table := operations()
	h := &api{
		config:            config,
		keys:              keys,
		core:              config.Core,
		fixedLinkBase:     config.BaseURL + config.BasePath,
		limiterKey:        cmp.Or(config.LimiterName, config.BaseURL+config.BasePath) + "#",
		mount:             newMount(config.BaseURL, config.BasePath, table),
		routes:            chi.NewMux(),
		limiterHealth:     new(limiterHealth),
		misplacedOnce:     new(sync.Once),
		hiddenConnOnce:    new(sync.Once),
		runningExports:    new(sync.Map),
		operations:        make(map[string]*operation, len(table)),
		contentOperations: make(map[string]*operation),
		description:       description,
		descriptionETag:   `"` + hex.EncodeToString(digest[:12]) + `"`,
	}
	for i := range table {
		op := &table[i]
		op.pattern = config.BasePath + op.path
		// The mux is asked which pattern a path matches; it never serves, so that the
		// chi context of a host's router stays as the host's middleware left it.
		h.routes.MethodFunc(op.method, op.path, http.NotFound)
		h.operations[op.method+op.path] = op
		if op.formContent {
			h.contentOperations[op.method+op.path] = op
		}
	}
	return h, func(c *core.Core, keys KeyResolver) httpapi.API { return h.withCore(c, keys) }, nil
}

func (h *api) withCore(c *core.Core, keys KeyResolver) *api {
	copied := *h
	copied.core = c
	if keys != nil {
		copied.keys = keys
	}
	return &copied
}

// ServeHTTP serves one request. The order of the checks is the order of the
// statements.
func (h *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := newCall(h, w, r)
	defer c.finish()
	mounted := h.mount.base
	if h.config.BaseURLFunc != nil {
		mounted = urlPath(h.linkBase(r))
	}
	path := h.mount.path(r, mounted)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	pattern := ""
	if path != "" {
		pattern = h.routes.Find(&c.route, method, path)
	}
	op := h.operations[method+pattern]
	if op == nil {
		methods := h.allowedMethods(path)
		if methods == "" && h.mount.isMisplaced(r, path, mounted) {
			h.logMisplaced(r, mounted)
		}
		if methods == "" {
			c.fail(apierror.ErrNotFound.With("The path does not exist. See GET " + h.linkBase(r) + "/openapi.json for all operations."))
			return
		}
		c.sendAllow(methods)
		return
	}
	if h.fixed != nil {
		h.fixed.setRequestBase(c, path)
		c.principal.UserID, _ = h.fixed.actor.User()
		c.principal.Scopes = storage.Scopes()
	}
	c.op = op
	// For the host's metrics and traces, which see the request when this returns.
	r.Pattern = c.op.pattern

	if !c.op.public && h.fixed == nil {
		if err := c.authenticate(); err != nil {
			c.fail(err)
			return
		}
	}
	if err := c.op.serve(c); err != nil {
		c.fail(err)
	}
}

// logMisplaced logs the first request that came at another path than base.
func (h *api) logMisplaced(r *http.Request, base string) {
	h.misplacedOnce.Do(func() {
		h.config.Logger.LogAttrs(r.Context(), slog.LevelWarn,
			"request path is outside the service's path: check WithBasePath and WithBaseURL",
			slog.String("path", r.URL.Path), slog.String("base_path", base))
	})
}

// allow answers OPTIONS, or a method that is not among those.
func (c *call) sendAllow(methods string) {
	c.w.Header()["Allow"] = []string{methods}
	if c.r.Method == http.MethodOptions {
		c.sendHeader(http.StatusNoContent)
	} else {
		c.fail(apierror.ErrMethodNotAllowed)
	}
}

// allowed lists the methods of a path, or "" when no operation has it.
func (h *api) allowedMethods(path string) string {
	if path == "" {
		return ""
	}
	var methods []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if h.operations[method+h.routes.Find(chi.NewRouteContext(), method, path)] == nil {
			continue
		}
		methods = append(methods, method)
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
	}
	if methods == nil {
		return ""
	}
	return strings.Join(append(methods, http.MethodOptions), ", ")
}

// base is what links begin with.
func (c *call) linkBase() string {
	if c.h.fixed != nil {
		return c.requestBase
	}
	return c.h.linkBase(c.r)
}

func (h *api) linkBase(r *http.Request) string {
	if h.config.BaseURLFunc != nil {
		return strings.TrimSuffix(h.config.BaseURLFunc(r), "/") + h.config.BasePath
	}
	return h.fixedLinkBase
}
