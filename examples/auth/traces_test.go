package main

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage/memory"
)

func TestASpanIsPartOfTheCallersTrace(t *testing.T) {
	t.Parallel()
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	expect.NoError(t, err)
	const trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, want := range map[string]string{
		"00-" + trace + "-" + parent + "-01": "trace=" + trace,
		"":                                   "parent=\"\"",
		"00-" + trace + "\n-x":               "parent=\"\"",
	} {
		var log bytes.Buffer
		h := traced(slog.New(slog.NewTextHandler(&log, nil)), svc)
		r := httptest.NewRequest(http.MethodGet, "/v1/forms/6b0252e4ff1dbdaab9a4beba", nil)
		r.Header.Set("Traceparent", header)
		h.ServeHTTP(httptest.NewRecorder(), r)
		if line := log.String(); !strings.Contains(line, want) || !strings.Contains(line, "/forms/{formId}") || !strings.Contains(line, "status=401") {
			t.Errorf("%q: %s", header, line)
		}
	}
}
