package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/formsvc/formsvc"

var (
	// required is where go.work says which release of the library the nested modules require.
	required = regexp.MustCompile(`(?m)^replace ` + module + ` (v\S+) => \./$`)
	// newest is the first heading of CHANGELOG.md.
	newest = regexp.MustCompile(`(?m)^## \[(.*?)\].*`)
)

const unreleased = "Unreleased"

// tree is what the files of a work tree say about the modules.
type tree struct {
	folders  []string // of the modules, the library's first: "." and "examples/otel"
	version  string   // that the nested modules have to require
	released bool     // the tree is that version; else it has changes beside it
	work     []byte   // what go.work has to be
}

func read(ctx context.Context, root string) (t tree, err error) {
	work, workErr := os.ReadFile(filepath.Join(root, "go.work"))
	changelog, logErr := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err := errors.Join(workErr, logErr); err != nil {
		return t, err
	}
	now, heading := required.FindSubmatch(work), newest.FindSubmatch(changelog)
	if now == nil || heading == nil {
		return t, errors.New("go.work names no release of the library, or CHANGELOG.md has no heading")
	}
	t.version, t.work = string(now[1]), work
	if string(heading[1]) != unreleased {
		t.version, t.released = "v"+string(heading[1]), true
		t.work = required.ReplaceAll(work, fmt.Appendf(nil, "replace %s %s => ./", module, t.version))
	}
	out, err := command(ctx, root, nil, "go", "work", "edit", "-json", "go.work")
	if err != nil {
		return t, err
	}
	var parsed struct{ Use []struct{ DiskPath string } }
	if err := json.Unmarshal(out, &parsed); err != nil {
		return t, err
	}
	for _, use := range parsed.Use {
		t.folders = append(t.folders, path.Clean(use.DiskPath))
	}
	return t, nil
}

// tidy returns what go.work and each go.mod and go.sum have to be, by their path below root.
//
// A nested module is tidied with the library of the tree, whatever release it requires. Its
// go.sum has the sums of that release only when the tree is the release, for they are not known
// before; until then go.work makes them unnecessary.
func tidy(ctx context.Context, root string) (map[string][]byte, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	t, err := read(ctx, root)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "formsvc-tidy-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	files, nested := map[string][]byte{"go.work": t.work}, []string(nil)
	for _, folder := range t.folders {
		at, mod, sum := filepath.Join(root, folder), filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum")
		if err := errors.Join(copyFile(filepath.Join(at, "go.mod"), mod), copyFile(filepath.Join(at, "go.sum"), sum)); err != nil {
			return nil, err
		}
		steps := [][]string{{"mod", "tidy", "-modfile=" + mod}}
		if folder != "." {
			steps = [][]string{
				{"mod", "edit", "-require=" + module + "@" + t.version, "-replace=" + module + "=" + root, mod},
				steps[0],
				{"mod", "edit", "-dropreplace=" + module, mod},
			}
		}
		for _, step := range steps {
			if _, err := command(ctx, at, []string{"GOWORK=off"}, "go", step...); err != nil {
				return nil, err
			}
		}
		tidied, modErr := os.ReadFile(mod)
		sums, sumErr := os.ReadFile(sum)
		if err := errors.Join(modErr, sumErr); err != nil {
			return nil, err
		}
		files[path.Join(folder, "go.mod")], files[path.Join(folder, "go.sum")] = tidied, sums
		if folder != "." && bytes.Contains(tidied, []byte(module+" "+t.version)) {
			nested = append(nested, path.Join(folder, "go.sum"))
		}
	}
	if !t.released {
		return files, nil
	}
	// The library is no part of the nested modules, nor they of it: their sums do not change it.
	copied := filepath.Join(dir, "tree")
	if err := errors.Join(copyTree(ctx, root, copied), write(copied, files)); err != nil {
		return nil, err
	}
	p, err := publish(ctx, copied, dir)
	if err != nil {
		return nil, err
	}
	for _, name := range nested {
		files[name] = p.addSums(files[name])
	}
	return files, nil
}

// addSums puts the lines of the library into a go.sum, which is sorted by path.
func (p proxy) addSums(sums []byte) []byte {
	lines := strings.SplitAfter(string(sums), "\n")
	at, _ := slices.BinarySearchFunc(lines[:len(lines)-1], module, func(line, path string) int {
		name, _, _ := strings.Cut(line, " ")
		return cmp.Compare(name, path)
	})
	return []byte(strings.Join(slices.Insert(lines, at, p.sums), ""))
}

// check fails when tidy would change a file.
func check(ctx context.Context, root string) error {
	files, err := tidy(ctx, root)
	if err != nil {
		return err
	}
	var differ []string
	for name, want := range files {
		if got, _ := os.ReadFile(filepath.Join(root, name)); !bytes.Equal(got, want) {
			differ = append(differ, name)
		}
	}
	if differ == nil {
		return nil
	}
	slices.Sort(differ)
	return fmt.Errorf("make tidy changes %s.\nWhere CHANGELOG.md begins with a release, the tree is that release, and its sums stand in the nested go.sum: a change after it begins with a heading [%s]", strings.Join(differ, ", "), unreleased)
}

// write writes files below root that differ.
func write(root string, files map[string][]byte) error {
	var errs []error
	for name, text := range files {
		errs = append(errs, os.WriteFile(filepath.Join(root, name), text, 0o644))
	}
	return errors.Join(errs...)
}
