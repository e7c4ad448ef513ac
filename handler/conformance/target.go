package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Target is a mounted service under test. Its functions speak in strings, so that
// a host of any shape can give them; package servicetarget fills them for a
// formsvc.Service. URL and CreateKey are required. Cases that need a function
// which is nil are skipped.
//
// Users, forms and workspaces are named by their 24 hexadecimal digits. The
// functions must be safe for concurrent use.
type Target struct {
	// URL is the base URL with the base path and without a trailing slash, as in
	// "http://127.0.0.1:8080/v1".
	URL string

	// Client sends the requests. Nil: a client of its own. Redirects are never
	// followed, whatever the client says of them.
	Client *http.Client

	// CreateKey makes a key with these scopes for the user, and makes the user on
	// first use.
	CreateKey func(ctx context.Context, user string, scopes []string) (key string, err error)

	// ExpiredKey makes a key whose expiration date has passed.
	ExpiredKey func(ctx context.Context, user string, scopes []string) (key string, err error)

	// RevokeKey revokes a key that CreateKey has made.
	RevokeKey func(ctx context.Context, user, key string) error

	// AddMember makes a user a member of a workspace, RemoveMember ends that.
	AddMember    func(ctx context.Context, workspace, user string) error
	RemoveMember func(ctx context.Context, workspace, user string) error

	// Submit stores one response and returns its id.
	Submit func(ctx context.Context, r Response) (submission string, err error)

	// RecordView and RecordStart count one step of a form's funnel.
	RecordView  func(ctx context.Context, form string) error
	RecordStart func(ctx context.Context, form string) error

	// SetLifetimeCounters sets a form's totals from before its events were counted.
	SetLifetimeCounters func(ctx context.Context, form string, views, starts, submissions int64) error

	// RestoreForm takes a form out of the trash, back to where it was.
	RestoreForm func(ctx context.Context, form string) error

	// Limits are the limits that the service was configured with.
	Limits Limits

	// RateLimit is how many requests a key has before it is told 429. 0: the
	// service has no rate limit, or one that the suite shall not look at. The
	// cases use up to a few hundred requests a key; a lower limit fits only a run
	// of the group "ratelimit".
	RateLimit int

	// RawPaths says that the service sees methods and paths as they were sent. A
	// standard ServeMux does not pass on unclean paths ("//", "..") but redirects by
	// itself; a chi router answers methods that it does not know.
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
// suite goes up to. Zero fields stand for the defaults.
type Limits struct {
	Workspaces int // workspaces an owner; default 100
	Webhooks   int // webhooks a form; default 20
	Body       int // bytes of a request body; default 1 MiB
	Blocks     int // top-level blocks a form; default 500
	Nesting    int // levels of blocks; default 8
	Text       int // characters of a label or description; default 5,000
	CustomCSS  int // characters of customCss; default 100,000
}

func (l Limits) withDefaults() Limits {
	fill := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	fill(&l.Workspaces, 100)
	fill(&l.Webhooks, 20)
	fill(&l.Body, 1<<20)
	fill(&l.Blocks, 500)
	fill(&l.Nesting, 8)
	fill(&l.Text, 5000)
	fill(&l.CustomCSS, 100_000)
	return l
}

// A Feature is something of a [Target] that a case may need beyond its URL and
// CreateKey. It is named after the field.
type Feature string

// The features.
const (
	NeedsExpiredKey          Feature = "ExpiredKey"
	NeedsRevokeKey           Feature = "RevokeKey"
	NeedsAddMember           Feature = "AddMember"
	NeedsRemoveMember        Feature = "RemoveMember"
	NeedsSubmit              Feature = "Submit"
	NeedsRecordView          Feature = "RecordView"
	NeedsRecordStart         Feature = "RecordStart"
	NeedsSetLifetimeCounters Feature = "SetLifetimeCounters"
	NeedsRestoreForm         Feature = "RestoreForm"
	NeedsRateLimit           Feature = "RateLimit"
	NeedsRawPaths            Feature = "RawPaths"
)

// has tells whether the target offers a feature.
func (t *Target) has(f Feature) bool {
	switch f {
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
	case NeedsRawPaths:
		return t.RawPaths
	}
	return false
}

// prepare checks the target and fills in what has a default. The function that it
// returns closes what it made.
func (t Target) prepare() (Target, func(), error) {
	if t.URL == "" || t.CreateKey == nil {
		return t, nil, errors.New("conformance: a Target needs URL and CreateKey")
	}
	client := http.Client{Timeout: time.Minute}
	done := func() {}
	if t.Client != nil {
		client = *t.Client
	} else {
		// The cases run in parallel against one host: a connection for each of them.
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 64
		client.Transport, done = transport, transport.CloseIdleConnections
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Client = &client
	t.Limits = t.Limits.withDefaults()
	return t, done, nil
}
