package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/ledger"
	"github.com/formsvc/formsvc/storage"
)

// The kinds of writes that the load makes besides submissions. Each writer has a form of its own
// and stores the numbers 1, 2, 3 … in it, so that every read can be checked.
const (
	writeEdit    = "edit"         // of a form
	writeCopy    = "copy edit"    // of a form's working copy
	writePublish = "publish"      // of a working copy that was edited before
	writePartial = "partial save" // of a partial submission
)

var writeKinds = []string{writeEdit, writeCopy, writePublish, writePartial}

// partialLoss is how long before a kill of the database server an acknowledged save of a partial
// submission may be lost. Other writes wait for the disk.
const partialLoss = time.Second

// writeRequest asks a serving process to store a number or, if the number is zero, to read it.
type writeRequest struct {
	Kind   string
	Form   formsvc.ID
	Token  string // of the partial submission; empty creates one
	Number int
}

// writeReply is the stored number and the token of the partial submission.
type writeReply struct {
	Number int
	Token  string
}

// writeHandler carries out the requests of writers.
func writeHandler(svc *formsvc.Service) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked writeRequest
		err := json.NewDecoder(r.Body).Decode(&asked)
		var reply writeReply
		switch {
		case err != nil:
		case asked.Number > 0:
			reply, err = write(r.Context(), svc, asked)
		default:
			reply, err = read(r.Context(), svc, asked)
		}
		switch {
		case err == nil:
			_ = json.NewEncoder(w).Encode(reply) // the writer repeats a request that was cut off
		case errors.Is(err, storage.ErrUnavailable), errors.Is(err, storage.ErrOutcomeUnknown):
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		default:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

func write(ctx context.Context, svc *formsvc.Service, asked writeRequest) (writeReply, error) {
	name := strconv.Itoa(asked.Number)
	update := formsvc.FormUpdate{Name: &name}
	client := svc.AsHost()
	switch asked.Kind {
	case writeEdit:
		_, err := client.UpdateForm(ctx, asked.Form, update)
		return writeReply{Number: asked.Number}, err
	case writeCopy:
		_, err := client.WorkingCopy(asked.Form).UpdateForm(ctx, update)
		return writeReply{Number: asked.Number}, err
	case writePublish:
		copied := client.WorkingCopy(asked.Form)
		_, err := copied.UpdateForm(ctx, update)
		if err == nil {
			_, err = copied.Publish(ctx, formsvc.PublishOptions{})
		}
		return writeReply{Number: asked.Number}, err
	default:
		token, _, err := svc.SavePartial(ctx, formsvc.PartialSubmission{
			FormID: asked.Form, Token: asked.Token,
			Answers: map[string]json.RawMessage{ledger.Block: json.RawMessage(`"` + name + `"`)},
		})
		return writeReply{asked.Number, token}, err
	}
}

// read returns the stored number, or zero if nothing is stored.
func read(ctx context.Context, svc *formsvc.Service, asked writeRequest) (writeReply, error) {
	var form formsvc.Form
	var err error
	switch asked.Kind {
	case writePartial:
		saved, err := svc.ResumePartial(ctx, asked.Form, asked.Token)
		if asked.Token == "" || errors.Is(err, storage.ErrNotFound) {
			return writeReply{}, nil
		}
		return writeReply{Number: number(string(saved.Answers[ledger.Block]))}, err
	case writeCopy:
		form, err = svc.AsHost().WorkingCopy(asked.Form).Form(ctx)
	default:
		form, err = svc.AsHost().Form(ctx, asked.Form)
	}
	return writeReply{Number: number(form.Name)}, err
}

// number reads what write stored. The form's first name is no number.
func number(text string) (n int) {
	_, _ = fmt.Sscan(strings.Trim(text, `"`), &n)
	return n
}

// writer stores one number after the other and reads each before it stores the next.
type writer struct {
	load *load
	kind string
	form formsvc.ID

	token          string
	attempted      int // the last number that was sent
	acknowledged   int
	acknowledgedAt time.Time
}

// run writes until stop ends, and then checks what is stored in the end. ctx ends both.
func (w *writer) run(ctx, stop context.Context, random *rand.Rand) {
	for stop.Err() == nil {
		w.check(ctx, random)
		w.attempted++
		reply, ok := w.ask(ctx, random, w.attempted)
		if !ok {
			return
		}
		w.token, w.acknowledged, w.acknowledgedAt = reply.Token, w.attempted, time.Now()
		w.load.note(func() { w.load.writes[w.kind]++ })
		pause(stop, time.Duration(random.Int64N(int64(longestPause))))
	}
	w.check(ctx, random)
}

// check reads the stored number and compares it with what was acknowledged and sent.
func (w *writer) check(ctx context.Context, random *rand.Rand) {
	reply, ok := w.ask(ctx, random, 0)
	if !ok {
		return
	}
	what := fmt.Sprintf("%s of form %s: %d is stored, %d was acknowledged, %d was sent last", w.kind, w.form, reply.Number, w.acknowledged, w.attempted)
	w.load.note(func() {
		switch {
		case reply.Number > w.attempted:
			w.load.found = append(w.load.found, ledger.Finding{Kind: ledger.UnaskedWrite, What: what})
		case reply.Number >= w.acknowledged:
		case w.kind == writePartial && w.load.serverKilledWithin(w.acknowledgedAt, partialLoss):
			w.load.lostSaves++
		default:
			w.load.found = append(w.load.found, ledger.Finding{Kind: ledger.LostWrite, What: what})
		}
		w.acknowledged = reply.Number
	})
	if reply.Number == 0 {
		w.token = "" // the creation was lost with it
	}
}

// ask sends a request until it is answered.
func (w *writer) ask(ctx context.Context, random *rand.Rand, number int) (reply writeReply, ok bool) {
	for ; ctx.Err() == nil; pause(ctx, retryPause) {
		urls := w.load.urls()
		body, err := json.Marshal(writeRequest{w.kind, w.form, w.token, number})
		if err != nil {
			panic(err) // a struct of strings and a number
		}
		if text, ok := w.load.post(ctx, urls[random.IntN(len(urls))]+"/write", body); ok {
			if err := json.NewDecoder(bytes.NewReader(text)).Decode(&reply); err == nil || errors.Is(err, io.EOF) {
				return reply, err == nil
			}
		}
	}
	return reply, false
}
