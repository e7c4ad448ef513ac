package webhooks

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/secrets"
	"github.com/formsvc/formsvc/storage"
)

func gcm(t *testing.T, key byte) cipher.AEAD {
	t.Helper()
	block, err := aes.NewCipher(bytes.Repeat([]byte{key}, 32))
	must(t, err)
	aead, err := cipher.NewGCM(block)
	must(t, err)
	return aead
}

func secretsWith(t *testing.T, current cipher.AEAD, previous ...cipher.AEAD) *secrets.Sealer {
	t.Helper()
	s, err := secrets.New(current, previous...)
	must(t, err)
	return s
}

// One line says that a webhook's secret cannot be opened, however many deliveries wait
// for it, and one that it can be again.
func TestASecretThatCannotBeOpenedIsReportedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		b := newBench(t, Config{}, roundTrip(func(*http.Request) (*http.Response, error) { return reply(200), nil }))
		id := b.webhook(hook, []byte{1, 1, 2, 3})
		for range 10 {
			b.event(id, "x")
		}
		b.run()
		time.Sleep(10 * time.Minute)
		count := func(text string) int { return strings.Count(b.log.String(), text) }
		if got := count(`"level":"ERROR"`); got != 1 || count("put off") != 1 {
			t.Errorf("%d errors are logged, want 1:\n%s", got, b.log)
		}
		plain := []byte("\x00secret")
		_, err := b.store.UpdateWebhook(t.Context(), storage.AsHost(), id, storage.WebhookChange{Secret: &plain, At: time.Now()})
		must(t, err)
		time.Sleep(10 * time.Minute)
		if len(b.attempts(id)) != 10 || count("go on") != 1 {
			t.Errorf("%d attempts and %d lines say that it can be opened again, want 10 and 1", len(b.attempts(id)), count("go on"))
		}
	})
}
