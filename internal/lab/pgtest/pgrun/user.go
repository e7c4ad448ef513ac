package pgrun

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// account is the user that servers run as. The zero value is the user of this
// process.
type account struct {
	switched bool
	uid, gid uint32
}

// unprivileged returns the user to run servers as: PostgreSQL and PgBouncer
// refuse to run as root. The user must be a known one, initdb looks its name up.
func unprivileged() (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil || uid == 0 {
			continue
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		if err != nil {
			continue
		}
		return account{switched: true, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return account{}, errors.New("running as root, and there is neither a user postgres nor nobody to run a server as")
}

// tempDir makes a directory that belongs to the account and that nobody else
// may enter.
func (a account) tempDir() (string, error) {
	parent := os.TempDir()
	if a.switched && !reachable(parent) {
		parent = "/tmp" // TMPDIR is below a directory that is root's own
	}
	dir, err := os.MkdirTemp(parent, "formsvc-pg-")
	if err != nil {
		return "", err
	}
	if a.switched {
		if err := os.Chown(dir, int(a.uid), int(a.gid)); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
	return dir, nil
}

// reachable reports whether every user may go through the directory.
func reachable(dir string) bool {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return false
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return true
		}
		dir = parent
	}
}
