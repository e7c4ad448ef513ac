package main

import (
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
)

// The settings are such that this server takes them.
func TestThePoolConnects(t *testing.T) {
	pool := expect.Must(openPool(t.Context(), pgtest.URL(t)))
	defer pool.Close()
	var there string
	expect.NoError(t, pool.QueryRow(t.Context(), "SHOW tcp_user_timeout").Scan(&there))
	if there != "5s" && there != "0" { // 0: a socket of Unix has none
		t.Errorf("the server waits for %s", there)
	}
}
