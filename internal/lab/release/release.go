package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// proxy is a release on this machine, as a module proxy made of files.
type proxy struct {
	dir      string // has it, and the module cache of those who use it
	fallback string // the proxies that have everything else
	sums     string // the library's lines of a go.sum
}

// settings are those of a go command that takes the release from the proxy, and all else from
// where this machine has it. Its module cache is its own: the release may still change. With
// -trimpath, what was compiled in another cache need not be compiled again.
func (p proxy) settings() []string {
	return []string{
		"GOPROXY=file://" + p.dir + "/made/cache/download," + p.fallback,
		"GOMODCACHE=" + p.dir + "/used",
		"GOFLAGS=-modcacherw -trimpath", "GOWORK=off", "GOPRIVATE=", "GONOPROXY=", "GONOSUMDB=" + module,
	}
}

// release releases a copy of a work tree into a folder: with the changes of a release, if the
// tree is not yet one, and with tags by the commands of release.md.
func release(ctx context.Context, root, dir string) (proxy, error) {
	copied := filepath.Join(dir, "tree")
	if err := copyTree(ctx, root, copied); err != nil {
		return proxy{}, err
	}
	t, err := read(ctx, copied)
	if err != nil {
		return proxy{}, err
	}
	if !t.released {
		file := filepath.Join(copied, "CHANGELOG.md")
		text, err := os.ReadFile(file) //nolint:gosec // of the copy
		if err != nil {
			return proxy{}, err
		}
		heading := fmt.Appendf(nil, "## [%s] - %s", strings.TrimPrefix(t.version, "v"), time.Now().UTC().Format(time.DateOnly))
		text = bytes.Replace(text, newest.Find(text), heading, 1)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return proxy{}, err
		}
	}
	files, err := tidy(ctx, copied)
	if err := errors.Join(err, write(copied, files)); err != nil {
		return proxy{}, err
	}
	return publish(ctx, copied, dir)
}

// copyTree copies the files of a work tree that git has or would take, and makes a repository
// of them.
func copyTree(ctx context.Context, root, to string) error {
	out, err := command(ctx, root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		err := copyFile(filepath.Join(root, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // git has it until its removal is committed
			return err
		}
	}
	_, err = command(ctx, to, nil, "git", "init", "-q")
	return err
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from) //nolint:gosec // of the tree
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(to), 0o750), os.WriteFile(to, text, info.Mode()))
}

// commands are the blocks of release.md for a shell.
var commands = regexp.MustCompile("(?s)```sh\n(.*?)```")

// publish commits a copied tree, tags it by the commands of release.md, which push the tags to
// a repository in dir, and has the go command make a proxy of that repository.
func publish(ctx context.Context, copied, dir string) (proxy, error) {
	p := proxy{dir: dir}
	page, err := os.ReadFile(filepath.Join(copied, "internal/docs/release.md")) //nolint:gosec // of the copy
	if err != nil {
		return p, err
	}
	script := "set -eu\n"
	for _, block := range commands.FindAllSubmatch(page, -1) {
		script += string(block[1])
	}
	origin := filepath.Join(dir, "origin.git")
	for _, args := range [][]string{
		{"git", "init", "-q", "--bare", origin},
		{"git", "add", "--all", "--force"},
		{"git", "commit", "-q", "-m", "A release"},
		{"git", "remote", "add", "origin", origin},
		{"sh", "-c", script},
	} {
		if _, err := command(ctx, copied, nil, args[0], args[1:]...); err != nil {
			return p, err
		}
	}
	tags, err := command(ctx, origin, nil, "git", "tag")
	if err != nil {
		return p, err
	}
	download := []string{"mod", "download", "-json"}
	for tag := range strings.FieldsSeq(string(tags)) {
		download = append(download, path.Join(module, path.Dir(tag))+"@"+path.Base(tag))
	}
	out, err := command(ctx, dir, []string{
		"GOPROXY=direct", "GONOSUMDB=" + module, "GOFLAGS=-modcacherw", "GOWORK=off", "GOMODCACHE=" + dir + "/made",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url." + origin + ".insteadOf", "GIT_CONFIG_VALUE_0=https://" + module,
	}, "go", download...)
	if err != nil {
		return p, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var made struct{ Path, Version, Sum, GoModSum string }
		if err := decoder.Decode(&made); err != nil {
			return p, err
		}
		if made.Path == module {
			p.sums = fmt.Sprintf("%[1]s %[2]s %[3]s\n%[1]s %[2]s/go.mod %[4]s\n", module, made.Version, made.Sum, made.GoModSum)
		}
	}
	settings, err := command(ctx, dir, nil, "go", "env", "GOMODCACHE", "GOPROXY")
	cache, proxies, _ := strings.Cut(strings.TrimSpace(string(settings)), "\n")
	p.fallback = "file://" + cache + "/cache/download," + proxies
	return p, err
}

// command runs a command and returns what it prints. Git does not look at the user's settings:
// they may sign tags.
func command(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	c.Env = append(os.Environ(),
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=formsvc", "GIT_AUTHOR_EMAIL=formsvc@example.com", "GIT_COMMITTER_NAME=formsvc", "GIT_COMMITTER_EMAIL=formsvc@example.com")
	c.Env = append(c.Env, env...)
	var faults bytes.Buffer
	c.Stderr = &faults
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, faults.Bytes())
	}
	return out, err
}
