package storage_test

import (
	"testing"
	"time"

	"github.com/formsvc/formsvc/storage"
)

func TestGate(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 8, 33, 1, 0, time.UTC)

	for name, test := range map[string]struct {
		gate storage.Gate
		full bool
		now  time.Time
		want bool
	}{
		"open":                    {storage.Gate{}, false, at, false},
		"closed by hand":          {storage.Gate{Closed: true}, false, at, true},
		"full":                    {storage.Gate{ResponseLimit: 3}, true, at, true},
		"a limit not reached":     {storage.Gate{ResponseLimit: 3}, false, at, false},
		"before the closing time": {storage.Gate{CloseAt: at}, false, at.Add(-time.Nanosecond), false},
		"at the closing time":     {storage.Gate{CloseAt: at}, false, at, true},
		"after the closing time":  {storage.Gate{CloseAt: at}, false, at.Add(time.Second), true},
	} {
		if got := test.gate.IsClosed(test.full, test.now); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
