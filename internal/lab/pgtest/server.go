package pgtest

import (
	"context"
	"errors"
	"io/fs"

	"github.com/formsvc/formsvc/internal/lab/pgtest/pgrun"
)

// Config says how a test's own server runs. The zero value waits for the disk,
// as in production.
type Config = pgrun.ServerConfig

// A Server is a PostgreSQL server that belongs to one test. Use it from one
// goroutine.
type Server struct {
	t      TB
	server *pgrun.Server
}

// NewServer starts a server, which takes a second or two, and ends it with the
// test. It does not need the shared one.
func NewServer(t TB, config Config) *Server {
	t.Helper()
	unlessUnwanted(t)
	bindir, err := pgrun.Finder{}.Postgres(t.Context())
	if err != nil {
		missing(t, "a server of its own: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	server, err := pgrun.StartServer(ctx, bindir, config)
	if err != nil {
		t.Fatalf("a server of its own: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the server: %v", err)
		}
	})
	return &Server{t: t, server: server}
}

// Standby starts a server that follows this one, and ends it with the test.
func (s *Server) Standby() *Server {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	standby, err := s.server.StartStandby(ctx)
	if errors.Is(err, fs.ErrNotExist) { // the programs of npm are the server's alone
		missing(s.t, "a standby: %v", err)
	}
	if err != nil {
		s.t.Fatalf("a standby: %v", err)
	}
	s.t.Cleanup(func() {
		if err := errors.Join(standby.Resume(), standby.Close()); err != nil {
			s.t.Errorf("close the standby: %v", err)
		}
	})
	return &Server{t: s.t, server: standby}
}

// Backup copies the running server's data for Restore.
func (s *Server) Backup() {
	s.t.Helper()
	if err := s.server.Backup(); err != nil {
		s.t.Fatalf("a backup: %v", err)
	}
}

// Archive is the directory of the segments of the log, of a server with Config.Archive.
func (s *Server) Archive() string { return s.server.Archive() }

// Restore starts a server from the backup and the archive, with settings that say up to where,
// and ends it with the test.
func (s *Server) Restore(target map[string]string) (*Server, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	restored, err := s.server.Restore(ctx, target)
	if err != nil {
		return nil, err
	}
	s.t.Cleanup(func() {
		if err := restored.Close(); err != nil {
			s.t.Errorf("close the restored server: %v", err)
		}
	})
	return &Server{t: s.t, server: restored}, nil
}

// Pause stops the server's processes, as a machine that hangs does, until Resume.
func (s *Server) Pause() {
	s.t.Helper()
	if err := s.server.Pause(); err != nil {
		s.t.Fatalf("pause the server: %v", err)
	}
}

// Resume lets a paused server go on.
func (s *Server) Resume() {
	s.t.Helper()
	if err := s.server.Resume(); err != nil {
		s.t.Fatalf("resume the server: %v", err)
	}
}

// URL is the connection string of a superuser. It stays the same over Restart.
func (s *Server) URL() string { return s.server.URL() }

// Log is what the server has logged until now: what a statement made it log is there when the
// statement has been answered.
func (s *Server) Log() string {
	s.t.Helper()
	log, err := s.server.Log()
	if err != nil {
		s.t.Fatalf("the server's log: %v", err)
	}
	return log
}

// Kill ends every process of the server at once, as a crash does.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.server.Kill(); err != nil {
		s.t.Fatalf("%v", err)
	}
}

// Restart starts the server after Kill; one that runs is shut down first. It
// returns when connections are accepted.
func (s *Server) Restart() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	if err := s.server.Restart(ctx); err != nil {
		s.t.Fatalf("%v", err)
	}
}
