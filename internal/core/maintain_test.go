package core

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

// setBack is a storage that brings times back in the first sweep.
type setBack struct {
	storage.Storage
	swept int
}

func (s *setBack) PendingBackfill(context.Context, storage.PendingBackfillParams) (storage.PendingBackfill, error) {
	return storage.PendingBackfill{}, storage.ErrUnimplemented
}

func (s *setBack) Sweep(context.Context, storage.SweepParams) (storage.SweepResult, error) {
	if s.swept++; s.swept == 1 {
		return storage.SweepResult{Rescheduled: 3, More: true}, nil
	}
	return storage.SweepResult{}, nil
}

// The log says once that times were brought back.
func TestMaintenanceLogsThatTimesWereBroughtBack(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	c := Core{Storage: &setBack{}, Clock: time.Now, Log: slog.New(slog.NewTextHandler(&log, nil))}
	expect.NoError(t, c.Maintain(t.Context()))
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=WARN") || !strings.Contains(got, "rows=3") {
		t.Errorf("the log says %q, want one warning about 3 rows", got)
	}
}
