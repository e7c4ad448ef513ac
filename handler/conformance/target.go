package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/formsvc/formsvc/schema"
)

// Target is a mounted service under test: where it is, and functions that do what
// the API has no operation for. The functions speak in strings, so that a host of
// any shape can give them; package servicetarget fills them for a formsvc.Service.
// URL or Handler is required, and CreateKey or Key. Cases that need a function that
// is nil are skipped, and the report says so.
//
// Users, forms and workspaces are named by their 24 hexadecimal digits. The
// functions must be safe for concurrent use.
type Target struct {
	// URL is the base URL with the base path and without a trailing slash, as in
	// "http://127.0.0.1:8080/v1". With a Handler only its path counts.
	URL string

	// Handler is served on a loopback address for the time of the run. Nil: the
	// service listens at URL already.
	Handler http.Handler

	// Client sends the requests. Nil: a client of its own. Redirects are never
	// followed, whatever the client says of them.
	Client *http.Client

	// Authorize puts a credential into a request, for a host that reads it from a
	// cookie or a header of its own. Nil: the header X-API-Key; the cases about that
	// header and about bearer tokens need it to be nil.
	Authorize func(r *http.Request, credential string)

	// CreateKey makes a key with these scopes for the user, and makes the user on
	// first use. Nil: all cases that need more than one user, or a user who has
	// nothing yet, are skipped, and Key is used for the others.
	CreateKey func(ctx context.Context, user string, scopes []string) (key string, err error)

	// Key is a key with all scopes, for a target without CreateKey. Its user
	// may have data; a case deletes the workspaces that it made when it ends.
	Key string

	// ExpiredKey makes a key whose expiration date has passed.
	ExpiredKey func(ctx context.Context, user string, scopes []string) (key string, err error)

	// RevokeKey revokes a key that CreateKey has made.
	RevokeKey func(ctx context.Context, user, key string) error

	// AddMember makes a user a member of a workspace, RemoveMember ends that.
	AddMember    func(ctx context.Context, workspace, user string) error
	RemoveMember func(ctx context.Context, workspace, user string) error

	// Submit stores one response and returns its id.
	Submit func(ctx context.Context, r Response) (submission string, err error)

	// RecordView and RecordStart count one step of a form's funnel. The next request for
	// metrics has it.
	RecordView  func(ctx context.Context, form string) error
	RecordStart func(ctx context.Context, form string) error

	// SetLifetimeCounters sets a form's totals from before its events were counted.
	SetLifetimeCounters func(ctx context.Context, form string, views, starts, submissions int64) error

	// RestoreForm takes a form out of the trash, back to where it was.
	RestoreForm func(ctx context.Context, form string) error

	// Advance moves the service's clock forward, for good. Cases that use it run
	// alone, before those that run in parallel.
	Advance func(ctx context.Context, by time.Duration) error

	// ReceiverURL returns the URL of a webhook by which the service's dispatcher
	// reaches a server that listens on the given address, such as
	// "127.0.0.1:34567": "http://127.0.0.1:34567/" where the dispatcher runs on this
	// machine and may send to loopback addresses. Nil: nothing is delivered, whether a
	// dispatcher is running or not, and the cases about deliveries and about enabled
	// webhooks are skipped. The webhooks that the suite needs besides are disabled ones to
	// a public address, which is never called.
	ReceiverURL func(address string) string

	// HeaderPrefix begins the names of the headers of deliveries, as in
	// "Service-Signature". Empty: "Service".
	HeaderPrefix string

	// AllowedNetworks are the networks that the service may send webhooks to although
	// they are not public.
	AllowedNetworks []netip.Prefix

	// Limits are the limits that the service was configured with.
	Limits Limits

	// RateLimit is how many requests a key has before it is told 429. 0: the service
	// has no rate limit, or the suite shall not look at the rate limit. The cases use
	// up to a few hundred requests a key; a lower limit fits only a run of the group
	// "ratelimit".
	RateLimit int

	// RawPaths says that the service sees methods and paths as they were sent. A
	// standard ServeMux does not pass on unclean paths ("//", "..") but redirects by
	// itself; a chi router answers methods that it does not know. False: a case in which
	// something else has answered such a request is skipped.
	RawPaths bool
}

// Response is a response to a form, as a respondent gives it.
type Response struct {
	Form           string
	Answers        map[string]json.RawMessage // by block id
	Hidden         map[string]string
	Country        string
	Device         string
	UserAgent      string
	UTM            map[string]string
	CompletionTime float64 // seconds
	IdempotencyKey string
}

// Limits are those limits of a service that its host may change and that the
// suite goes up to. Zero fields stand for the defaults of [schema.Limits].
type Limits struct {
	Workspaces int // workspaces an owner
	Webhooks   int // webhooks a form
	Body       int // bytes of a request body
	Blocks     int // top-level blocks a form
	Nesting    int // levels of blocks
	Cells      int // options that a page draws for a block
	AllCells   int // options that a page draws for a form
	Text       int // characters of a label or description
	CustomCSS  int // bytes of customCss
}

func (l Limits) withDefaults() Limits {
	d := schema.Limits{}.WithDefaults()
	return Limits{
		Workspaces: cmp.Or(l.Workspaces, d.Workspaces),
		Webhooks:   cmp.Or(l.Webhooks, d.Webhooks),
		Body:       cmp.Or(l.Body, int(d.Body)),
		Blocks:     cmp.Or(l.Blocks, d.Blocks),
		Nesting:    cmp.Or(l.Nesting, d.Nesting),
		Cells:      cmp.Or(l.Cells, d.Cells),
		AllCells:   cmp.Or(l.AllCells, d.AllCells),
		Text:       cmp.Or(l.Text, d.Text),
		CustomCSS:  cmp.Or(l.CustomCSS, d.CustomCSS),
	}
}

// A Feature is something of a [Target] that a case may need beyond its URL and
// CreateKey. It is named after the field.
type Feature string

// The features.
const (
	NeedsCreateKey           Feature = "CreateKey"
	NeedsKeyHeader           Feature = "X-API-Key" // Authorize is nil
	NeedsExpiredKey          Feature = "ExpiredKey"
	NeedsRevokeKey           Feature = "RevokeKey"
	NeedsAddMember           Feature = "AddMember"
	NeedsRemoveMember        Feature = "RemoveMember"
	NeedsSubmit              Feature = "Submit"
	NeedsRecordView          Feature = "RecordView"
	NeedsRecordStart         Feature = "RecordStart"
	NeedsSetLifetimeCounters Feature = "SetLifetimeCounters"
	NeedsRestoreForm         Feature = "RestoreForm"
	NeedsAdvance             Feature = "Advance"
	NeedsReceiverURL         Feature = "ReceiverURL"
	NeedsRateLimit           Feature = "RateLimit"
)

// has reports whether the target offers a feature.
func (t *Target) has(f Feature) bool {
	switch f {
	case NeedsCreateKey:
		return t.CreateKey != nil
	case NeedsKeyHeader:
		return t.Authorize == nil
	case NeedsAdvance:
		return t.Advance != nil
	case NeedsReceiverURL:
		return t.ReceiverURL != nil
	case NeedsExpiredKey:
		return t.ExpiredKey != nil
	case NeedsRevokeKey:
		return t.RevokeKey != nil
	case NeedsAddMember:
		return t.AddMember != nil
	case NeedsRemoveMember:
		return t.RemoveMember != nil
	case NeedsSubmit:
		return t.Submit != nil
	case NeedsRecordView:
		return t.RecordView != nil
	case NeedsRecordStart:
		return t.RecordStart != nil
	case NeedsSetLifetimeCounters:
		return t.SetLifetimeCounters != nil
	case NeedsRestoreForm:
		return t.RestoreForm != nil
	case NeedsRateLimit:
		return t.RateLimit > 0
	}
	return false
}

// prepare checks the target and fills in the defaults. The function that it returns
// closes the parts that prepare made.
func (t Target) prepare() (Target, func(), error) {
	if t.URL == "" && t.Handler == nil || t.CreateKey == nil && t.Key == "" {
		return t, nil, errors.New("conformance: a Target needs URL or Handler, and CreateKey or Key")
	}
	var closers []func()
	done := func() {
		for _, c := range closers {
			c()
		}
	}
	if t.Handler != nil {
		address, stop, err := listen(t.Handler)
		if err != nil {
			return t, nil, err
		}
		closers = append(closers, stop)
		base, err := url.Parse(t.URL)
		if err != nil {
			done()
			return t, nil, err
		}
		t.URL = "http://" + address + strings.TrimSuffix(base.EscapedPath(), "/")
	}
	client := http.Client{Timeout: time.Minute}
	if t.Client != nil {
		client = *t.Client
	} else {
		// The cases run in parallel against one host: a connection for each of them.
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 64
		client.Transport = transport
		closers = append([]func(){transport.CloseIdleConnections}, closers...)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Client = &client
	if t.HeaderPrefix == "" {
		t.HeaderPrefix = "Service"
	}
	t.Limits = t.Limits.withDefaults()
	return t, done, nil
}

// listen serves a handler on a free loopback address.
func listen(h http.Handler) (address string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // it returns when it is closed
	}()
	return l.Addr().String(), func() { _ = server.Close(); <-ended }, nil
}
