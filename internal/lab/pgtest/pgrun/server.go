package pgrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ServerConfig says how a server runs. The zero value is a durable server with
// PostgreSQL's own settings, but for the number of connections.
type ServerConfig struct {
	// NoSync turns fsync and full_page_writes off: faster, and for data that
	// nobody misses after a crash of the machine. A killed server loses nothing
	// by it, what it had written is with the kernel.
	NoSync bool
	// Settings are parameters of postgresql.conf, such as "shared_buffers":
	// "512MB". They come after this package's own and override them.
	Settings map[string]string
	// Env is added to the server's environment: "NAME=value".
	Env []string
	// Archive has the server copy each full segment of its log to Server.Archive, for
	// Server.Restore.
	Archive bool
}

// A Server is a PostgreSQL server in a temporary directory, with a superuser
// and a database that are both named postgres. It is for one goroutine; what
// connects to it is not restricted.
type Server struct {
	bindir  string
	config  ServerConfig
	home    *home
	process *process
}

// StartServer makes and starts a server with the programs in bindir (see
// Finder.Postgres) and returns when it accepts connections. When this process
// runs as root, the server runs as the user postgres, or else nobody. Close the
// server after use.
func StartServer(ctx context.Context, bindir string, config ServerConfig) (*Server, error) {
	h, err := newHome()
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	if h.account.switched && !reachable(bindir) {
		if bindir, err = h.copyPrograms(bindir); err != nil {
			return nil, errors.Join(fmt.Errorf("start PostgreSQL: %w", err), h.close())
		}
	}
	s := &Server{bindir: bindir, config: config, home: h}
	err = s.initdb(ctx)
	if err == nil && config.Archive {
		err = h.run("mkdir", s.Archive())
	}
	return s, s.made(ctx, err)
}

// made starts a server whose data directory is made.
func (s *Server) made(ctx context.Context, err error) error {
	if err != nil {
		return errors.Join(err, s.home.close())
	}
	s.home.env = s.config.Env
	if err := s.start(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	return nil
}

// StartStandby starts a server that follows this one, with its settings. Close it before
// this one.
func (s *Server) StartStandby(ctx context.Context) (*Server, error) {
	h, err := newHome()
	if err != nil {
		return nil, fmt.Errorf("start a standby: %w", err)
	}
	standby := s.follower(h, map[string]string{"primary_conninfo": "host=" + s.home.dir + " user=postgres"})
	err = s.baseBackup(h, "data")
	if err == nil {
		err = h.write("data/standby.signal", "")
	}
	return standby, standby.made(ctx, err)
}

// follower is a server with the settings of this one and more.
func (s *Server) follower(h *home, more map[string]string) *Server {
	f := &Server{bindir: s.bindir, config: s.config, home: h}
	f.config.Settings, f.config.Archive = maps.Clone(more), false
	for name, value := range s.config.Settings {
		if _, set := more[name]; !set {
			f.config.Settings[name] = value
		}
	}
	return f
}

// baseBackup copies the running server's data into a directory of a home.
func (s *Server) baseBackup(to *home, name string) error {
	return to.run(filepath.Join(s.bindir, "pg_basebackup"),
		"--pgdata", to.path(name), "--host", s.home.dir, "--username", "postgres", "--checkpoint", "fast", "--no-sync")
}

// Backup copies the running server's data for Restore. A server has one backup.
func (s *Server) Backup() error { return s.baseBackup(s.home, "backup") }

// Archive is the directory of the segments of the log, see ServerConfig.Archive.
func (s *Server) Archive() string { return s.home.path("archive") }

// Restore starts a server from the backup, which replays the archive up to the recovery target
// that the settings name, or to its end. This server may be gone, but not closed. Close the
// restored one before this one.
func (s *Server) Restore(ctx context.Context, target map[string]string) (*Server, error) {
	h, err := newHome()
	if err != nil {
		return nil, fmt.Errorf("restore PostgreSQL: %w", err)
	}
	settings := maps.Clone(target)
	if settings == nil {
		settings = map[string]string{}
	}
	settings["restore_command"] = fmt.Sprintf(`cp "%s/%%f" "%%p"`, s.Archive())
	settings["recovery_target_action"] = "promote"
	settings["hot_standby"] = "off" // so that the server is ready at the end, not on the way
	restored := s.follower(h, settings)
	err = h.run("cp", "-a", s.home.path("backup"), h.path("data"))
	if err == nil {
		err = h.write("data/recovery.signal", "")
	}
	return restored, restored.made(ctx, err)
}

// Pause stops all processes of the server, so that it says nothing and its connections stay,
// until Resume.
func (s *Server) Pause() error {
	children, err := s.process.freeze()
	for _, pid := range children {
		err = errors.Join(err, signal(pid, stopped))
	}
	return err
}

// Resume lets a paused server go on.
func (s *Server) Resume() error {
	var err error
	for _, pid := range append(children(s.process.pid), s.process.pid) {
		err = errors.Join(err, signal(pid, goesOn))
	}
	return err
}

// URL is the server's connection string. It stays the same over Restart.
func (s *Server) URL() string {
	query := url.Values{"host": {s.home.dir}}
	if port := s.config.Settings["port"]; port != "" {
		query.Set("port", port) // part of the socket's name
	}
	return (&url.URL{
		Scheme:   "postgres",
		User:     url.User("postgres"),
		Path:     "/postgres",
		RawQuery: query.Encode(),
	}).String()
}

// Log is what the server has logged until now.
func (s *Server) Log() (string, error) {
	log, err := os.ReadFile(s.home.logPath())
	return string(log), err
}

// Kill ends the server as a crash does: all its processes get SIGKILL. It
// returns when they are gone. On a server that does not run it does nothing.
func (s *Server) Kill() error {
	if !s.process.running() {
		return nil
	}
	pids, err := s.process.freeze()
	if err != nil {
		return fmt.Errorf("kill PostgreSQL: %w", err)
	}
	if err := s.process.stop(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill PostgreSQL: %w", err)
	}
	for _, pid := range pids {
		if child, err := os.FindProcess(pid); err == nil {
			_ = child.Kill() // it may have ended with its parent
		}
	}
	for _, pid := range pids {
		for alive(pid) {
			time.Sleep(poll)
		}
	}
	return nil
}

// Restart starts the server again: after Kill with crash recovery, and one that
// still runs is shut down in order first.
func (s *Server) Restart(ctx context.Context) error {
	if s.process.running() {
		if err := s.process.stop(syscall.SIGINT); err != nil {
			return fmt.Errorf("stop PostgreSQL: %w", err)
		}
	}
	return s.start(ctx)
}

// Close ends the server and removes its directory. Data is not written back.
func (s *Server) Close() error {
	var err error
	if s.process != nil && s.process.running() {
		err = s.process.stop(syscall.SIGQUIT)
	}
	s.removeSharedMemory()
	return errors.Join(err, s.home.close())
}

// initdb makes the data directory.
func (s *Server) initdb(ctx context.Context) error {
	err := s.home.run(filepath.Join(s.bindir, "initdb"),
		"--pgdata", s.home.path("data"), "--username", "postgres", "--auth", "trust",
		"--encoding", "UTF8", "--locale", "C", "--no-sync")
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	// From here on the log is the server's own.
	return os.Remove(s.home.logPath())
}

// start starts the server in its directory and waits until it accepts
// connections.
func (s *Server) start(ctx context.Context) error {
	args := []string{"-D", s.home.path("data")}
	for _, setting := range s.settings() {
		args = append(args, "-c", setting)
	}
	var err error
	// An orphaned server gets the signal of an immediate shutdown, which leaves
	// no shared memory behind.
	if s.process, err = s.home.start(syscall.SIGQUIT, filepath.Join(s.bindir, "postgres"), args...); err != nil {
		return err
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !s.ready() {
		select {
		case <-s.process.ended:
			return s.home.explain(fmt.Errorf("PostgreSQL did not start: %w", errors.Join(s.process.err, errEnded)))
		case <-ctx.Done():
			return s.home.explain(fmt.Errorf("PostgreSQL did not start: %w", ctx.Err()))
		case <-tick.C:
		}
	}
	return nil
}

var errEnded = errors.New("it ended")

// settings are the server's parameters, the configured ones last.
func (s *Server) settings() []string {
	settings := []string{
		"listen_addresses=",
		"unix_socket_directories=" + s.home.dir,
		// Tests run in parallel, as many as there are processors, each with
		// a pool or two.
		"max_connections=500",
		// In the directory, where it goes with the rest even when the server
		// was killed; and containers have a small /dev/shm.
		"dynamic_shared_memory_type=mmap",
	}
	if s.config.NoSync {
		settings = append(settings, "fsync=off", "full_page_writes=off")
	}
	if s.config.Archive {
		settings = append(settings, "archive_mode=on",
			fmt.Sprintf(`archive_command=cp "%%p" "%[1]s/part" && mv "%[1]s/part" "%[1]s/%%f"`, s.Archive()))
	}
	for _, name := range slices.Sorted(maps.Keys(s.config.Settings)) {
		settings = append(settings, name+"="+s.config.Settings[name])
	}
	return settings
}

// ready tells what pg_ctl waits for too: the lock file is this process's and
// its eighth line says so.
func (s *Server) ready() bool {
	lines := s.lockFile()
	return len(lines) >= 8 && lines[0] == strconv.Itoa(s.process.pid) && strings.TrimSpace(lines[7]) == "ready"
}

// removeSharedMemory removes the small System V segment by which PostgreSQL
// knows that a directory is in use. Only a killed server leaves it, and with it
// the lock file, whose seventh line is "key id".
func (s *Server) removeSharedMemory() {
	lines := s.lockFile()
	if len(lines) < 7 {
		return
	}
	if fields := strings.Fields(lines[6]); len(fields) == 2 {
		_ = exec.Command("ipcrm", "-m", fields[1]).Run() //nolint:gosec,noctx // a number, and it does not wait
	}
}

func (s *Server) lockFile() []string {
	content, err := os.ReadFile(s.home.path("data/postmaster.pid"))
	if err != nil {
		return nil
	}
	return strings.Split(string(content), "\n")
}
