package webhooks_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/formsvc/formsvc/webhooks"
)

// A receiver reads the whole body, checks the signature and only then decodes.
func ExampleVerify() {
	const secret = "the signing secret of the webhook"
	receiver := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			http.Error(w, "body", http.StatusBadRequest)
			return
		}
		if err := webhooks.Verify(secret, body, r.Header.Get("Service-Signature")); err != nil {
			http.Error(w, "signature", http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})

	body := `{"id":"65f0c0ffee65f0c0ffee65f0","response":{}}`
	for _, signature := range []string{webhooks.Sign(secret, []byte(body)), "sha256=forged"} {
		r := httptest.NewRequest(http.MethodPost, "/hook", strings.NewReader(body))
		r.Header.Set("Service-Signature", signature)
		w := httptest.NewRecorder()
		receiver.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 204
	// 401
}

// A host fetches a URL that a stranger gave it.
func ExampleNewClient() {
	client := webhooks.NewClient(webhooks.ClientConfig{Timeout: 5 * time.Second})
	defer client.CloseIdleConnections()

	resp, err := client.Get("http://169.254.169.254/latest/meta-data/")
	if refused := (*webhooks.URLError)(nil); errors.As(err, &refused) {
		fmt.Println("refused:", refused.Reason)
		return
	}
	if err != nil {
		fmt.Println("failed")
		return
	}
	_ = resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output:
	// refused: its host is not a public address
}
