package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
	"github.com/formsvc/formsvc/webhooks"
)

// A delivery of a running service shows in the metrics.
func TestADeliveryIsCounted(t *testing.T) {
	reader := metric.NewManualReader()
	observer, err := NewObserver(metric.NewMeterProvider(metric.WithReader(reader)))
	check(t, err)
	received, seen := make(chan struct{}, 1), make(chan struct{}, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		received <- struct{}{}
	}))
	defer receiver.Close()
	svc, err := formsvc.New(
		formsvc.WithStorage(memory.New()),
		formsvc.WithWebhookConfig(webhooks.Config{
			Observer: queueSeen{observer, seen}, AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		}),
	)
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- svc.Dispatcher().Run(ctx) }()

	ann := formsvc.User{ID: formsvc.UserIDFrom("ann"), Name: "Ann"}
	key, err := svc.CreateKey(ctx, formsvc.KeyRequest{User: ann, Name: "k", Scopes: storage.Scopes()})
	check(t, err)
	workspace, err := svc.CreateWorkspace(ctx, ann.ID, "Customers")
	check(t, err)
	made := func(path, body string) formsvc.ID {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
		r.Header.Set("X-API-Key", key.Secret)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		svc.ServeHTTP(w, r)
		var out struct{ ID formsvc.ID }
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != http.StatusCreated {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		return out.ID
	}
	form := made("/v1/forms", `{"workspace_id":"`+workspace.ID.String()+`","name":"Feedback"}`)
	hook := made("/v1/webhooks", `{"form_id":"`+form.String()+`","url":"`+receiver.URL+`"}`)
	check(t, svc.SendTestEvent(ctx, hook))
	<-received
	<-seen
	stop()
	check(t, <-ended)

	var all metricdata.ResourceMetrics
	check(t, reader.Collect(context.Background(), &all))
	found := map[string]metricdata.Aggregation{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		found[m.Name] = m.Data
	}
	attempts, _ := found["formsvc.webhook.attempts"].(metricdata.Sum[int64])
	if len(attempts.DataPoints) != 1 || attempts.DataPoints[0].Value != 1 ||
		attempts.DataPoints[0].Attributes != attribute.NewSet(attribute.String("outcome", "success")) {
		t.Errorf("attempts are %+v", attempts)
	}
	took, _ := found["formsvc.webhook.duration"].(metricdata.Histogram[float64])
	if len(took.DataPoints) != 1 || took.DataPoints[0].Count != 1 || took.DataPoints[0].Sum <= 0 || took.DataPoints[0].Sum > time.Minute.Seconds() {
		t.Errorf("durations are %+v", took)
	}
	for _, name := range []string{"formsvc.webhook.due", "formsvc.webhook.waiting", "formsvc.webhook.oldest_due"} {
		if found[name] == nil {
			t.Errorf("%s is not observed", name)
		}
	}
}

// queueSeen reports the first look at the queue, which the dispatcher takes next to its deliveries.
type queueSeen struct {
	*Observer
	seen chan<- struct{}
}

func (o queueSeen) QueueObserved(ctx context.Context, q storage.QueueStats) {
	o.Observer.QueueObserved(ctx, q)
	select {
	case o.seen <- struct{}{}:
	default:
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
