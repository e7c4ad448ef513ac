package pgrun

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// installer is an Installer on a machine with these programs, for this user; run
// stands for the command.
func installer(uid int, run func(name string, args []string) error, programs ...string) Installer {
	return Installer{
		LookPath: func(program string) (string, error) {
			if slices.Contains(programs, program) {
				return "/usr/bin/" + program, nil
			}
			return "", exec.ErrNotFound
		},
		UID: func() int { return uid },
		Run: func(_ context.Context, name string, args ...string) error { return run(name, args) },
	}
}

func TestPackagesAreInstalledByRootOrSudo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		uid      int
		programs []string
		want     []string // nil: cannot
	}{
		{"as root", 0, []string{"apt-get"}, []string{"/bin/sh", "-c", installScript, "install.sh", "one", "two"}},
		{"as another user", 1000, []string{"apt-get", "sudo"}, []string{"sudo", "-n", "/bin/sh", "-c", installScript, "install.sh", "one", "two"}},
		{"without sudo", 1000, []string{"apt-get"}, nil},
		{"without apt-get", 0, []string{"sudo"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var ran []string
			i := installer(c.uid, func(name string, args []string) error {
				ran = append([]string{name}, args...)
				return nil
			}, c.programs...)
			err := i.Install(t.Context(), "one", "two")
			if !slices.Equal(ran, c.want) || errors.Is(err, ErrCannotInstall) != (c.want == nil) {
				t.Errorf("ran %q, %v", ran, err)
			}
		})
	}
}

func TestTheScriptNeverAsksAndStartsNothing(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"DEBIAN_FRONTEND=noninteractive", "apt-get update", "apt-get install --yes", "policy-rc.d", "create_main_cluster = false"} {
		if !strings.Contains(installScript, part) {
			t.Errorf("the script lacks %q", part)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "/bin/sh", "-n", "-c", installScript).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestOnlyWhatIsMissingIsInstalled(t *testing.T) {
	t.Parallel()
	const postgres, bouncer = "usr/lib/postgresql/15/bin/", "usr/sbin/pgbouncer"
	server := []string{postgres + "postgres", postgres + "initdb"}
	for _, c := range []struct {
		name    string
		there   []string
		install []string
	}{
		{"all there", append([]string{bouncer}, server...), nil},
		{"no bouncer", server, []string{"pgbouncer"}},
		{"no server", []string{bouncer}, []string{"postgresql"}},
		{"nothing there", nil, []string{"postgresql", "pgbouncer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root, finder := machine(t, c.there...)
			var installed []string
			i := installer(0, func(_ string, args []string) error {
				name := args[len(args)-1]
				installed = append(installed, name)
				files := map[string][]string{"postgresql": server, "pgbouncer": {bouncer}}[name]
				for _, file := range files {
					place(t, filepath.Join(root, file), 0o755)
				}
				return nil
			}, "apt-get")
			var report strings.Builder
			got, err := Ensure(t.Context(), finder, i, &report)
			want := Programs{Postgres: filepath.Join(root, postgres), PgBouncer: filepath.Join(root, bouncer)}
			if err != nil || got != want {
				t.Errorf("got %v, %v; want %v", got, err, want)
			}
			if !slices.Equal(installed, c.install) {
				t.Errorf("installed %q, want %q", installed, c.install)
			}
			for _, name := range c.install {
				if !strings.Contains(report.String(), name) {
					t.Errorf("the report does not name %s: %q", name, report.String())
				}
			}
		})
	}
}

func TestAFailedInstallLeavesTheProgramsThereAre(t *testing.T) {
	t.Parallel()
	root, finder := machine(t, "usr/lib/postgresql/15/bin/postgres", "usr/lib/postgresql/15/bin/initdb")
	broken := errors.New("no such package")
	i := installer(0, func(string, []string) error { return broken }, "apt-get")
	var report strings.Builder
	got, err := Ensure(t.Context(), finder, i, &report)
	if !errors.Is(err, broken) || !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
	if got != (Programs{Postgres: filepath.Join(root, "usr/lib/postgresql/15/bin")}) {
		t.Errorf("programs %v", got)
	}

	// A package that installs and does not bring the program is no success.
	i = installer(0, func(string, []string) error { return nil }, "apt-get")
	if _, err := Ensure(t.Context(), finder, i, &report); !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v", err)
	}
}
