package servicetest_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/postgres"
	"github.com/formsvc/formsvc/webhooks"
)

var kills = flag.Int("kills", 5, "how often TestALocalWebhookOutlivesKills kills the process with the handler")

const workerSchema, workerFile = "FORMSVC_TEST_LOCAL_SCHEMA", "FORMSVC_TEST_LOCAL_FILE"

// TestLocalWorker is the process that is killed: its handler appends each submission to a file.
func TestLocalWorker(t *testing.T) {
	if os.Getenv(workerSchema) == "" {
		t.Skip("it is a process of TestALocalWebhookOutlivesKills")
	}
	file := expect.Must(os.OpenFile(os.Getenv(workerFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600))
	append := func(w http.ResponseWriter, r *http.Request) {
		var event struct {
			Response struct{ SubmissionID formsvc.ID }
		}
		body := expect.Must(io.ReadAll(r.Body))
		expect.NoError(t, json.Unmarshal(body, &event))
		if _, err := fmt.Fprintln(file, event.Response.SubmissionID); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
	svc := servicetest.New(t, postgres.New(pgtest.Pool(t, pgtest.MaxConns(4)), postgres.WithSchema(os.Getenv(workerSchema))),
		formsvc.WithWebhookConfig(webhooks.Config{Timeout: time.Second, Local: map[string]http.Handler{"append": http.HandlerFunc(append)}}))
	fmt.Println("started")
	_ = svc.Dispatcher().Run(t.Context()) // until it is killed
}

// Submissions arrive while the process with the handler is killed again and again. Each reaches the handler at least once.
func TestALocalWebhookOutlivesKills(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits until the leases of killed processes expire")
	}
	t.Parallel()
	schema, pool := pgtest.Schema(t), pgtest.Pool(t, pgtest.MaxConns(8))
	b := servicetest.SetupOn(t, servicetest.Migrated(t, pool, postgres.WithSchema(schema)), formsvc.WithoutRateLimit())
	expect.Must(b.LocalWebhooks().CreateWebhook(t.Context(), formsvc.WebhookCreate{URL: "local:append"}))
	forms := []formsvc.ID{b.Form(nameBlock, `{}`), b.Form(nameBlock, `{}`)}
	path := t.TempDir() + "/received"
	start := func() *exec.Cmd {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLocalWorker$", "-test.v")
		c.Env = append(os.Environ(), workerSchema+"="+schema, workerFile+"="+path)
		out := expect.Must(c.StdoutPipe())
		expect.NoError(t, c.Start())
		for text := ""; !strings.Contains(text, "started"); {
			buffer := make([]byte, 100)
			n, err := out.Read(buffer)
			expect.NoError(t, err)
			text += string(buffer[:n])
		}
		go func() { _, _ = io.Copy(io.Discard, out) }()
		return c
	}
	var mu sync.Mutex
	var submitted []string
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			s, err := b.Answer(forms[i%2], "name", `"Ann"`)
			expect.NoError(t, err)
			mu.Lock()
			submitted = append(submitted, s.ID.String())
			mu.Unlock()
		}
	}()
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(submitted)
	}
	for i := range *kills {
		worker, before := start(), count()
		servicetest.WaitFor(t, "some submissions arrive", func() bool { return count() >= before+10*(i%5) })
		expect.NoError(t, worker.Process.Kill())
		_ = worker.Wait()
	}
	close(stop)
	<-done
	worker := start()
	defer func() { _ = worker.Process.Kill(); _ = worker.Wait() }()
	received := map[string]int{}
	missing := func() (n int) {
		text, _ := os.ReadFile(path)
		clear(received)
		for _, id := range strings.Fields(string(text)) {
			received[id]++
		}
		for _, id := range submitted {
			if received[id] == 0 {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(3 * time.Minute); missing() > 0; time.Sleep(100 * time.Millisecond) {
		expect.Require(t, time.Now().Before(end), "%d of %d submissions did not arrive", missing(), len(submitted))
	}
	again := 0
	for _, n := range received {
		again += n - 1
	}
	t.Logf("%d kills, %d submissions, %d repeated", *kills, len(submitted), again)
}
