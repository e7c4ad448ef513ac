package main

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/formsvc/formsvc/webhooks"
)

const (
	receivePath = "/hooks/receive"
	remembered  = 50      // deliveries
	maxDelivery = 1 << 20 // bytes
)

// receiver is the other end of a webhook. In a real product it is another program;
// all it shares with the service is the signing secret.
type receiver struct {
	secret  string
	arrived func(delivery) // told about every new delivery; nil: nobody is

	mu         sync.Mutex
	deliveries []delivery // newest first, at most remembered
}

// delivery is one event that arrived with the right signature.
type delivery struct {
	EventID      string
	SubmissionID string // empty for a test event
	At           time.Time
	Signature    string
	Body         []byte
}

func newReceiver(secret string) *receiver { return &receiver{secret: secret} }

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The signature covers the exact bytes: read them all before decoding any.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDelivery))
	if err != nil {
		http.Error(w, "failed to read the body", http.StatusBadRequest)
		return
	}
	signature := r.Header.Get("Service-Signature")
	if err := webhooks.Verify(rc.secret, body, signature); err != nil {
		http.Error(w, "wrong signature", http.StatusUnauthorized)
		return
	}
	var event struct {
		ID       string `json:"id"`
		Response struct {
			SubmissionID string `json:"submissionId"`
		} `json:"response"`
	}
	if err := json.Unmarshal(body, &event); err != nil {
		http.Error(w, "the body is not a valid event", http.StatusBadRequest)
		return
	}
	rc.remember(delivery{
		EventID: event.ID, SubmissionID: event.Response.SubmissionID,
		At: time.Now(), Signature: signature, Body: body,
	})
	// Answer promptly. A receiver with real work to do queues it and answers first.
	w.WriteHeader(http.StatusNoContent)
}

// remember keeps a delivery. Deliveries are made at least once, so an event that is
// there already is dropped.
func (rc *receiver) remember(d delivery) {
	rc.mu.Lock()
	known := slices.ContainsFunc(rc.deliveries, func(have delivery) bool { return have.EventID == d.EventID })
	if !known {
		rc.deliveries = slices.Insert(rc.deliveries, 0, d)
		rc.deliveries = rc.deliveries[:min(len(rc.deliveries), remembered)]
	}
	rc.mu.Unlock()
	if !known && rc.arrived != nil {
		rc.arrived(d)
	}
}
