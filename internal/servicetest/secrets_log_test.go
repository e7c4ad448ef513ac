package servicetest_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/lab/pgtest"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/storage/postgres"
)

// texts are the lines of a server's log that have no parameters of statements.
func texts(log string) string {
	var kept []string
	for line := range strings.Lines(log) {
		if !strings.Contains(strings.ToLower(line), "detail:  parameters: ") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// With log_statement = all the server logs every statement with its parameters.
func TestSigningSecretsStayOutOfTheServersLog(t *testing.T) {
	t.Parallel()
	server := pgtest.NewServer(t, pgtest.Config{NoSync: true, Settings: map[string]string{"log_statement": "all"}})
	servicetest.Migrated(t, pgtest.PoolAt(t, server.URL()))
	// The secret may stand in the log as it is or, as bytea is written, in hexadecimal.
	in := func(log, secret string) bool {
		return strings.Contains(log, secret) || strings.Contains(log, hex.EncodeToString([]byte(secret)))
	}
	cipher := formsvc.WithSecretCipher(aead(t, 'k'))
	for mode, name := range map[pgx.QueryExecMode]string{
		pgx.QueryExecModeCacheStatement: "cache statement", pgx.QueryExecModeCacheDescribe: "cache describe",
		pgx.QueryExecModeDescribeExec: "describe exec", pgx.QueryExecModeExec: "exec", pgx.QueryExecModeSimpleProtocol: "simple protocol",
	} {
		open := func(settings string) *servicetest.Bundle {
			pool := pgtest.PoolAt(t, server.URL(), pgtest.Mode(mode), func(c *pgxpool.Config) {
				c.ConnConfig.RuntimeParams["log_parameter_max_length"] = settings
			})
			return servicetest.SetupOn(t, postgres.New(pool), servicetest.Loopback())
		}
		secret := func(what string) string { return fmt.Sprintf("secret of %s in %s mode", what, name) }
		patch := func(b *servicetest.Bundle, id formsvc.ID, secret string) {
			t.Helper()
			if w := b.Do("PATCH", "/webhooks/"+id.String(), fmt.Sprintf(`{"signing_secret":%q}`, secret), nil); w.Code != 200 {
				t.Fatalf("%s: %d %s", name, w.Code, w.Body)
			}
		}

		// Sealed, on a server that logs all parameters. That it does shows the first secret,
		// which is stored as it is.
		plain := open("-1")
		form := plain.Form(servicetest.TextBlock, `{}`)
		shown := plain.Webhook(form, "http://127.0.0.1:8099/", secret("one"))
		log := server.Log()
		if !in(log, secret("one")) {
			t.Errorf("%s: the log has no parameters:\n%s", name, log)
		}
		if mode != pgx.QueryExecModeSimpleProtocol && in(texts(log), secret("one")) {
			t.Errorf("%s: a secret stands in the text of a statement", name)
		}
		logged := len(log)
		sealing := servicetest.New(t, plain.Store, servicetest.Loopback(), cipher)
		if n, err := sealing.ResealSecrets(t.Context()); err != nil || n == 0 {
			t.Errorf("%s: %d sealed, %v", name, n, err)
		}
		sealed := &servicetest.Bundle{Service: sealing, T: t, Store: plain.Store, User: plain.User, Key: plain.Key, Workspace: plain.Workspace}
		patch(sealed, sealed.Webhook(form, "http://127.0.0.1:8099/", secret("two")), secret("three"))
		patch(sealed, shown, secret("four"))
		for _, what := range []string{"one", "two", "three", "four"} {
			if in(server.Log()[logged:], secret(what)) {
				t.Errorf("%s: the log has the sealed secret %s", name, what)
			}
		}

		// Not sealed, on a server that logs no parameters.
		if mode == pgx.QueryExecModeSimpleProtocol {
			continue // it writes values into the text, as package storage/postgres says
		}
		bare := open("0")
		patch(bare, bare.Webhook(bare.Form(servicetest.TextBlock, `{}`), "http://127.0.0.1:8099/", secret("five")), secret("six"))
		for _, what := range []string{"five", "six"} {
			if in(server.Log(), secret(what)) {
				t.Errorf("%s: the log has the secret %s, though parameters are not logged", name, what)
			}
		}
	}
}
