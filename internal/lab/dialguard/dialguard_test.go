package dialguard_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/dispatch"
	"github.com/formsvc/formsvc/internal/lab/dialguard"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/objectid"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// run is a testing.M that has run its tests.
type run int

func (r run) Run() int { return int(r) }

var guarded interface{ Run() int }

func TestMain(m *testing.M) {
	guarded = dialguard.Guard(run(0))
	os.Exit(dialguard.Guard(m).Run())
}

// public is an address that is not ours. That nothing is sent there is what these tests show.
const public = "93.184.215.14"

// attempts passes on what a dispatcher tells of its requests.
type attempts struct {
	webhooks.NoObserver
	finished chan storage.Delivery
}

func (a attempts) AttemptFinished(_ context.Context, attempt storage.Delivery) {
	a.finished <- attempt
}

// A dispatcher with a webhook that leads to a public address sends nothing, and the run
// of the tests fails.
func TestADispatcherThatWouldSendIsCaught(t *testing.T) {
	store, ids, now := memory.New(), objectid.NewSource(), time.Now()
	workspace, form, hook := ids.New(now), ids.New(now), ids.New(now)
	expect.NoError(t, store.CreateWorkspace(t.Context(), storage.Workspace{ID: workspace, OwnerID: ids.New(now), CreatedAt: now, UpdatedAt: now}, 0))
	expect.NoError(t, store.CreateForm(t.Context(), storage.AsHost(), storage.Form{ID: form, WorkspaceID: workspace, Status: storage.StatusPublished, Revision: 1}))
	expect.NoError(t, store.CreateWebhook(t.Context(), storage.AsHost(), storage.NewWebhook{Webhook: storage.Webhook{ID: hook, FormID: form, URL: "http://" + public + "/hook", Enabled: true}}))
	expect.NoError(t, store.Enqueue(t.Context(), hook, storage.Event{ID: ids.New(now), Type: "form.response.completed", Body: []byte("{}")}))

	seen := attempts{finished: make(chan storage.Delivery, 10)}
	var log bytes.Buffer
	d, _, err := webhooks.NewDispatcher(webhooks.Config{Observer: seen}, dispatch.Params{Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	expect.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	attempt := <-seen.finished
	stop()
	expect.NoError(t, <-ended)
	expect.That(t, !attempt.Success && attempt.Status == 0 && attempt.Error == webhooks.ClassNetwork, "the attempt: %+v", attempt)
	expect.That(t, strings.Contains(log.String(), "dialguard: "+public+":80 is not on this machine"), "the log does not say why:\n%s", &log)
	// The run fails with it, unless a test asks for it.
	expect.Equal(t, guarded.Run(), 1, "the exit status")
	expect.Equal(t, guarded.Run(), 0, "the exit status without a dial")
}

func TestWhatIsRefused(t *testing.T) {
	outside := "http://" + public + "/"
	clone := http.DefaultTransport.(*http.Transport).Clone()
	for name, c := range map[string]struct {
		dial func() error
		want string
	}{
		"the webhooks' client": {func() error { return get(t, webhooks.NewClient(webhooks.ClientConfig{}), outside) }, public + ":80"},
		"its names":            {func() error { return get(t, webhooks.NewClient(webhooks.ClientConfig{}), "http://public.example/") }, "the name server"},
		"the default client":   {func() error { return get(t, http.DefaultClient, outside) }, public + ":80"},
		"IPv6":                 {func() error { return get(t, http.DefaultClient, "http://[2606:4700:4700::1111]/") }, "[2606:4700:4700::1111]:80"},
		"a cloned transport":   {func() error { return get(t, &http.Client{Transport: clone}, outside) }, public + ":80"},
		"a name of any dialer": {func() error {
			_, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "public.example:80")
			return err
		}, "the name server"},
		"a look-up": {func() error { _, err := net.DefaultResolver.LookupTXT(t.Context(), "public.example"); return err }, "the name server"},
	} {
		expect.That(t, c.dial() != nil, "%s: there is no error", name)
		refused := dialguard.Refused()
		if len(refused) == 0 || slices.ContainsFunc(refused, func(r string) bool { return !strings.HasPrefix(r, c.want) }) {
			t.Errorf("%s: refused is %q, want %q", name, refused, c.want)
		}
	}
}

func get(t *testing.T, client *http.Client, url string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	expect.NoError(t, err)
	response, err := client.Do(r)
	if err == nil {
		response.Body.Close()
	}
	return err
}
