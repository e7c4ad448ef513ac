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
)

type api struct {
	config httpapi.Config
	// keys resolves API keys. A formKeyResolver can read the key and the operation's form in one statement.
	keys  KeyResolver
	core  *core.Core
	mount mount
	// fixedLinkBase is the prefix of all links, if it is the same for every request.
	fixedLinkBase string
	// limiterKey is the prefix of the limiter's keys: the service's name and a "#", which names cannot contain.
	limiterKey string
	routes     *chi.Mux
	// The copies that withCore makes share the fields from limiterHealth to runningExports.
	limiterHealth     *limiterHealth
	misplacedOnce     *sync.Once            // Logs the first request outside the base path.
	brokenLinksOnce   *sync.Once            // Logs the first request whose links lack a prefix.
	hiddenConnOnce    *sync.Once            // Logs the first export whose connection is hidden by middleware.
	runningExports    *sync.Map             // The IDs of keys with an export in progress.
	runningImports    *sync.Map             // The IDs of keys with an import in progress.
	operations        map[string]*operation // By method and pattern.
	contentOperations map[string]*operation // The operations of a working copy, by method and pattern.

	fixed *fixedActor // If set, the handler serves this actor without API keys.

	description     []byte
	descriptionETag string
}

// New returns the API for package formsvc. Other modules cannot call New, because the type of config is internal. The
// on function returns a copy of the API that uses another Core and, unless its second argument is nil, another
// resolver. New starts no goroutines.
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
		brokenLinksOnce:   new(sync.Once),
		hiddenConnOnce:    new(sync.Once),
		runningExports:    new(sync.Map),
		runningImports:    new(sync.Map),
		operations:        make(map[string]*operation, len(table)),
		contentOperations: make(map[string]*operation),
		description:       description,
		descriptionETag:   `"` + hex.EncodeToString(digest[:12]) + `"`,
	}
	for i := range table {
		op := &table[i]
		op.pattern = config.BasePath + op.path
		// The mux only finds the matching pattern. Serving requests would change the chi context of the host's router.
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

// ServeHTTP serves one request. The order of the checks determines which error a client receives.
func (h *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := newCall(h, w, r)
	defer c.finish()
	mounted := h.mount.base
	if h.config.BaseURLFunc != nil {
		mounted = urlPath(h.linkBase(r))
	}
	path := h.mount.pathBelow(r, mounted)
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
			c.sendError(apierror.ErrNotFound.WithMessage("The path does not exist. See GET " + h.linkBase(r) + "/openapi.json for all operations."))
			return
		}
		c.sendAllowedMethods(methods)
		return
	}
	if h.fixed != nil {
		h.fixed.setRequestBase(c, path)
		c.principal.UserID, _ = h.fixed.actor.User()
		c.principal.Scopes = h.fixed.scopes
	} else if h.config.BaseURL == "" && h.config.BaseURLFunc == nil {
		h.warnIfLinksLackPrefix(r, path)
	}
	c.op = op
	// Set the pattern for the host's metrics and traces.
	r.Pattern = c.op.pattern

	var err error
	switch {
	case h.fixed != nil:
		err = c.checkScope()
	case !c.op.public:
		err = c.authenticate()
	}
	if err == nil {
		err = c.op.serve(c)
	}
	if err != nil {
		c.sendError(err)
	}
}

func (h *api) logMisplaced(r *http.Request, base string) {
	h.misplacedOnce.Do(func() {
		h.config.Logger.LogAttrs(r.Context(), slog.LevelWarn,
			"request path is outside the service's path: check WithBasePath and WithBaseURL",
			slog.String("path", r.URL.Path), slog.String("base_path", base))
	})
}

// warnIfLinksLackPrefix logs the first request from whose path the host has stripped a prefix, unless the base URL
// contains it. path is the operation's path.
func (h *api) warnIfLinksLackPrefix(r *http.Request, path string) {
	sent, _, _ := strings.Cut(r.RequestURI, "?")
	if len(sent) <= len(h.config.BasePath)+len(path) {
		return
	}
	if prefix, ok := strings.CutSuffix(sent, h.config.BasePath+path); ok && prefix[0] == '/' {
		h.brokenLinksOnce.Do(func() {
			h.config.Logger.WarnContext(r.Context(), "links in responses lack a prefix: check WithBaseURL", "path", prefix)
		})
	}
}

// sendAllowedMethods responds to an OPTIONS request, or to a method that methods does not contain.
func (c *call) sendAllowedMethods(methods string) {
	c.w.Header()["Allow"] = []string{methods}
	if c.r.Method == http.MethodOptions {
		c.sendHeader(http.StatusNoContent)
	} else {
		c.sendError(apierror.ErrMethodNotAllowed)
	}
}

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
