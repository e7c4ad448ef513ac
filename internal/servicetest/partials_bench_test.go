package servicetest_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/memory"
)

// halfPages are pages that save half responses, on the loopback network. Addresses are not limited,
// as if each request came from another one.
type halfPages struct {
	*servicetest.Bundle
	url    string
	client *http.Client
}

// onHalfPages runs a benchmark on each storage.
func onHalfPages(b *testing.B, run func(b *testing.B, p *halfPages), opts ...formsvc.Option) {
	for name, open := range map[string]func() storage.Storage{
		"memory":   func() storage.Storage { return memory.New() },
		"postgres": func() storage.Storage { return servicetest.PostgresStore(b) },
	} {
		b.Run(name, func(b *testing.B) {
			s := servicetest.SetupOn(b, open(), opts...)
			pages, err := formpage.New(s.Service, formpage.Config{Partials: formpage.Resume, MinFillTime: -1})
			if err != nil {
				b.Fatal(err)
			}
			server := httptest.NewServer(pages)
			b.Cleanup(server.Close)
			client := server.Client()
			client.Transport.(*http.Transport).MaxIdleConnsPerHost = 128
			run(b, &halfPages{s, server.URL, client})
		})
	}
}

// formAt makes a form, and returns where its page is.
func (p *halfPages) formAt(b *testing.B) (formsvc.ID, string) {
	b.Helper()
	id := p.Form(`[{"id":"name","type":"short_text","label":"Name"},{"id":"b","type":"page_break"},{"id":"more","type":"long_text","label":"More"}]`, `{}`)
	f, err := p.AsHost().Form(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	return id, p.url + "/f/" + f.PublicID
}

// post sends a page, or without values opens it.
func (p *halfPages) post(ctx context.Context, page string, values url.Values, status int) ([]byte, error) {
	method := http.MethodPost
	if values == nil {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, page, strings.NewReader(values.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := p.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != status {
		err = fmt.Errorf("%s %s: %d, want %d: %s", method, page, answer.StatusCode, status, body)
	}
	return body, err
}

// begin saves new half responses without pages, and returns their tokens.
func (p *halfPages) begin(b *testing.B, form formsvc.ID, n int) []string {
	b.Helper()
	tokens := make([]string, n)
	for i := range tokens {
		var err error
		tokens[i], _, err = p.SavePartial(b.Context(), formsvc.PartialResponse{FormID: form, Answers: servicetest.Answers("name", `"a secret"`)})
		if err != nil {
			b.Fatal(err)
		}
	}
	return tokens
}

// Who guesses tokens learns nothing by time. Tokens of each kind are tried in turns over HTTP.
// "slower" is how often one of a kind takes longer than one that never was, 0.5 when there is no
// difference, and z how many standard deviations that is away (Mann and Whitney). It is a
// measurement, for a quiet machine:
//
//	go run ./internal/lab/pgtest/with -fsync -- go test ./internal/servicetest -run - -bench GuessedTokens -benchtime 20000x
func BenchmarkGuessedTokens(b *testing.B) {
	const days = 40 * 24 * time.Hour
	clock := servicetest.NewClock(time.Now())
	onHalfPages(b, func(b *testing.B, p *halfPages) {
		form, page := p.formAt(b)
		other, _ := p.formAt(b)
		over := p.begin(b, form, min(b.N, 500))
		clock.Advance(days)
		foreign := p.begin(b, other, min(b.N, 500))
		p.begin(b, form, min(b.N, 500)) // those that could be found
		random := func(int) string {
			var secret [16]byte
			_, _ = rand.Read(secret[:]) // never fails
			return base64.RawURLEncoding.EncodeToString(secret[:])
		}
		kinds := []struct {
			name  string
			token func(round int) string
			took  []float64 // µs
		}{
			{name: "never", token: random},
			{name: "foreign", token: func(round int) string { return foreign[round%len(foreign)] }},
			{name: "expired", token: func(round int) string { return over[round%len(over)] }},
			{name: "malformed", token: func(round int) string { return "!" + random(round)[1:] }},
		}
		b.ResetTimer()
		for round := range b.N {
			for _, i := range mathrand.Perm(len(kinds)) {
				k := &kinds[i]
				values := url.Values{"link": {k.token(round)}, "go": {"resume"}}
				start := time.Now()
				if _, err := p.post(b.Context(), page, values, http.StatusNotFound); err != nil {
					b.Fatal(err)
				}
				k.took = append(k.took, float64(time.Since(start).Nanoseconds())/1e3)
			}
		}
		b.StopTimer()
		never := kinds[0].took
		for _, k := range kinds {
			slices.Sort(k.took)
			b.ReportMetric(k.took[b.N/2], k.name+"-µs")
			if k.name != "never" {
				slower, n := slowerShare(k.took, never), float64(b.N)
				b.ReportMetric(slower, k.name+"-slower")
				b.ReportMetric((slower-0.5)*n/math.Sqrt((2*n+1)/12), k.name+"-z")
			}
		}
	}, formsvc.WithClock(clock.Now))
}

// slowerShare is how often one of some values is above one of others, which are sorted. Equal ones
// count half.
func slowerShare(values, others []float64) float64 {
	sum := 0
	for _, v := range values {
		below, _ := slices.BinarySearch(others, v)
		upTo, _ := slices.BinarySearch(others, math.Nextafter(v, math.Inf(1)))
		sum += below + upTo
	}
	return float64(sum) / 2 / float64(len(values)*len(others))
}

var halfInput = regexp.MustCompile(`name="half" value="([^".]+)\.[^"]*"`)
var stateInput = regexp.MustCompile(`name="state" value="([^"]+)"`)

// Strangers save half responses to one form, every fourth save a new one and the others again what
// they have: there are never more than the bound, none goes that was not saved longest ago, and
// another form is used as before. The number of saves is N, and a new one at the bound takes the
// server milliseconds:
//
//	go run ./internal/lab/pgtest/with -fsync -- go test ./internal/servicetest -run - -bench FloodOfHalfResponses -benchtime 1000000x -timeout 3h
func BenchmarkFloodOfHalfResponses(b *testing.B) {
	const callers, bound, latest = 64, 10_000, 8
	onHalfPages(b, func(b *testing.B, p *halfPages) {
		form, page := p.formAt(b)
		other, otherPage := p.formAt(b)
		p.begin(b, form, min(b.N, bound))
		kept := p.begin(b, other, min(b.N, 1000))
		there := func(form formsvc.ID) (n int, oldest time.Time) {
			for half, err := range p.AsHost().Partials(b.Context(), form, formsvc.Query{}) {
				if err != nil {
					b.Error(err)
				}
				n, oldest = n+1, half.SavedAt
			}
			return n, oldest
		}
		// What others do, again and again until that is enough, in milliseconds.
		others := func(enough func(round int) bool) map[string][]float64 {
			took := map[string][]float64{}
			for round := 0; round == 0 || !enough(round); round++ {
				for what, do := range map[string]func() error{
					"page": func() error {
						_, err := p.post(b.Context(), otherPage, nil, http.StatusOK)
						return err
					},
					"save": func() error {
						_, _, err := p.SavePartial(b.Context(), formsvc.PartialResponse{FormID: other, Token: kept[round%len(kept)], Answers: servicetest.Answers("name", `"y"`)})
						return err
					},
					"submit": func() error {
						_, err := p.Submit(b.Context(), formsvc.Response{FormID: other, Answers: servicetest.Answers("name", `"z"`)})
						return err
					},
				} {
					start := time.Now()
					if err := do(); err != nil {
						b.Errorf("%s of another form: %v", what, err)
					}
					took[what] = append(took[what], float64(time.Since(start).Microseconds())/1e3)
				}
			}
			return took
		}
		quiet := others(func(round int) bool { return round == min(b.N, 1000) })

		var next, begun atomic.Int64
		var saved sync.Map // by token: when its last save was sent
		stranger := func() error {
			opened, err := p.post(b.Context(), page, nil, http.StatusOK)
			if err != nil {
				return err
			}
			state := string(stateInput.FindSubmatch(opened)[1])
			type half struct{ input, token string }
			var own []half // the latest
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				values := url.Values{"state": {state}, "a.name": {fmt.Sprint("stranger ", i)}, "go": {"save"}}
				again := mathrand.IntN(latest)
				if i%4 == 0 || again >= len(own) {
					begun.Add(1)
					again = len(own)
					own = append(own, half{})
				} else {
					values.Set("half", own[again].input)
				}
				sent := time.Now()
				body, err := p.post(b.Context(), page, values, http.StatusOK)
				if err != nil {
					return err
				}
				found := halfInput.FindSubmatch(body)
				raw, err := base64.RawURLEncoding.DecodeString(string(found[1]))
				var in struct {
					Token string `json:"t"`
				}
				if err != nil || json.Unmarshal(raw, &in) != nil || in.Token == "" || values.Has("half") && in.Token != own[again].token {
					return fmt.Errorf("a save of %q is answered with %q", own[again].token, raw)
				}
				own[again] = half{strings.TrimSuffix(strings.TrimPrefix(string(found[0]), `name="half" value="`), `"`), in.Token}
				own = own[max(0, len(own)-latest):]
				saved.Store(in.Token, sent)
				if i%1000 == 0 {
					if n, _ := there(form); n > bound {
						return fmt.Errorf("there are %d", n)
					}
				}
			}
			return nil
		}
		b.ResetTimer()
		var flood sync.WaitGroup
		for range callers {
			flood.Go(func() {
				if err := stranger(); err != nil {
					b.Error(err)
				}
			})
		}
		flooded := make(chan struct{})
		go func() { defer close(flooded); flood.Wait() }()
		during := others(func(int) bool {
			select {
			case <-flooded:
				return true
			default:
				return false
			}
		})
		<-flooded
		b.StopTimer()

		n, oldest := there(form)
		young := 0
		saved.Range(func(token, sent any) bool {
			if sent.(time.Time).After(oldest.Add(10 * time.Second)) { // the longest that a save may wait for its turn
				young++
				if _, err := p.ResumePartial(b.Context(), form, token.(string)); err != nil {
					b.Errorf("saved %s after the oldest that is there: %v", sent.(time.Time).Sub(oldest), err)
				}
			}
			return true
		})
		if left, _ := there(other); left != len(kept) {
			b.Errorf("%d of another form are there, of %d", left, len(kept))
		}
		b.Logf("%d saves, %d of them new; %d are there, %d of them certainly newer than the oldest", b.N, begun.Load(), n, young)
		for what, took := range during {
			b.Logf("%s of another form: median %.1f ms before, %.1f during; of a hundred the slowest %.1f before, %.1f during",
				what, share(quiet[what], 0.5), share(took, 0.5), share(quiet[what], 0.99), share(took, 0.99))
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
	})
}

// share is what a share of values is below.
func share(values []float64, of float64) float64 {
	slices.Sort(values)
	return values[int(of*float64(len(values)-1))]
}
