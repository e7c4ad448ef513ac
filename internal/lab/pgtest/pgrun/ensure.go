package pgrun

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Programs are where a machine has what tests need. Empty: it has not.
type Programs struct {
	Postgres  string // the directory of the server's programs
	PgBouncer string // the program
}

// Find returns the programs there are, and an error that matches ErrNotFound
// when one is missing.
func (f Finder) Find(ctx context.Context) (Programs, error) {
	postgres, noPostgres := f.Postgres(ctx)
	bouncer, noBouncer := f.PgBouncer()
	return Programs{Postgres: postgres, PgBouncer: bouncer}, errors.Join(noPostgres, noBouncer)
}

// Ensure returns the programs and installs those that are missing, one package
// after the other: not every machine that has the one can get the other. It
// says on report what it installs. The programs there are in the end are
// returned beside an error too.
func Ensure(ctx context.Context, finder Finder, installer Installer, report io.Writer) (Programs, error) {
	programs, err := finder.Find(ctx)
	if err == nil {
		return programs, nil
	}
	var failed []error
	for _, wanted := range []struct{ found, name string }{
		{programs.Postgres, "postgresql"},
		{programs.PgBouncer, "pgbouncer"},
	} {
		if wanted.found != "" {
			continue
		}
		_, _ = fmt.Fprintf(report, "installing the package %s for the tests\n", wanted.name)
		failed = append(failed, installer.Install(ctx, wanted.name))
	}
	programs, err = finder.Find(ctx)
	if err == nil {
		return programs, nil
	}
	return programs, errors.Join(append(failed, err)...)
}
