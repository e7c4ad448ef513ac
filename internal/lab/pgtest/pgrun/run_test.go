package pgrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNothingStaysOfAServerThatDidNotStart(t *testing.T) {
	t.Setenv("TMPDIR", open(t))
	bindir, err := Finder{}.Postgres(t.Context())
	if err != nil {
		if os.Getenv("FORMSVC_TEST_REQUIRE_DATABASE") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, start := range map[string]func() error{
		"a setting that there is not": func() error {
			_, err := StartServer(t.Context(), bindir, ServerConfig{NoSync: true, Settings: map[string]string{"no_such": "1"}})
			if err != nil && !strings.Contains(err.Error(), "no_such") {
				t.Errorf("the server's own words are missing: %v", err)
			}
			return err
		},
		"no programs": func() error {
			_, err := StartServer(t.Context(), "/nowhere", ServerConfig{})
			return err
		},
		"a canceled context": func() error {
			_, err := StartServer(canceled, bindir, ServerConfig{})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
			return err
		},
		"a bouncer that is none": func() error {
			_, err := StartBouncer(t.Context(), "/bin/false", BouncerConfig{Host: "/nowhere", User: "u", PoolSize: 1})
			return err
		},
	} {
		if err := start(); err == nil {
			t.Errorf("%s: no error", name)
		}
		if left, err := filepath.Glob(filepath.Join(os.TempDir(), "*")); err != nil || len(left) != 0 {
			t.Errorf("%s leaves %q, %v", name, left, err)
		}
	}
}

// open returns a temporary directory that every user can reach.
func open(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if !reachable(dir) {
		t.Skipf("%s cannot be reached by every user", dir)
	}
	return dir
}

func TestABouncersConfigurationQuotesAndLeavesOutWhatIsEmpty(t *testing.T) {
	t.Parallel()
	ini := BouncerConfig{Host: "h", Port: 5433, User: "o'neil", Password: "it's' x='1", PoolSize: 3}.ini("/dir")
	for _, line := range []string{
		"* = port=5433 host='h' user='o''neil' password='it''s'' x=''1'",
		"unix_socket_dir = /dir", "default_pool_size = 3", "pool_mode = transaction", "listen_addr =",
	} {
		if !strings.Contains(ini, line+"\n") {
			t.Errorf("no line %q in\n%s", line, ini)
		}
	}
	if ini := (BouncerConfig{Host: "h", User: "u"}).ini("/dir"); strings.Contains(ini, "password") {
		t.Errorf("an empty password is a syntax error to PgBouncer:\n%s", ini)
	}
}
