// Command compat tells what a change breaks for those who use the last release: for programs
// that import the module, by apidiff, and for clients of the API, by oasdiff. It compares the
// tree with what it wrote of the release into the folder released:
//
//	go run ./compat            # what was added and what breaks; fails for breaks that are not told
//	go run ./compat -release   # this tree is the release from now on
//
// A break is told when the section Unreleased of CHANGELOG.md has the line that is printed for it.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	root := flag.String("root", filepath.Join("..", "..", ".."), "folder of the module")
	release := flag.Bool("release", false, "write what this tree has as that of the last release")
	flag.Parse()
	t := tree{root: *root, released: "released"}
	if *release {
		if err := t.write(); err != nil {
			log.Fatal(err)
		}
		return
	}
	untold, err := t.compare(os.Stdout)
	switch {
	case err != nil:
		log.Fatal(err)
	case untold > 0:
		log.Fatalf("\n%d breaks are not told. Quote their lines in the section Unreleased of CHANGELOG.md, or take them back.", untold)
	}
}

// tree is where the module is, and what is kept of its last release.
type tree struct{ root, released string }

func (t tree) description() string { return filepath.Join(t.root, "schema", "openapi.json") }

// write makes this tree the last release.
func (t tree) write() error {
	surface, err := readSurface(t.root)
	if err != nil {
		return err
	}
	description, err := os.ReadFile(t.description())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(t.released, "surface.txt"), surface.write(), 0o644); err != nil { //nolint:gosec // for everybody
		return err
	}
	return os.WriteFile(filepath.Join(t.released, "openapi.json"), description, 0o644) //nolint:gosec // for everybody
}

// compare prints how the tree differs from the release, and returns how many breaks are not told.
func (t tree) compare(out io.Writer) (untold int, err error) {
	changelog, err := os.ReadFile(filepath.Join(t.root, "CHANGELOG.md"))
	if err != nil {
		return 0, err
	}
	told := unreleased(string(changelog))
	before, err := os.ReadFile(filepath.Join(t.released, "surface.txt"))
	if err != nil {
		return 0, err
	}
	programs, err := compareSurfaces(before, t.root)
	if err != nil {
		return 0, err
	}
	clients, err := compareDescriptions(filepath.Join(t.released, "openapi.json"), t.description())
	if err != nil {
		return 0, err
	}
	return programs.print(out, "Programs that import the module", told) + clients.print(out, "Clients of the API", told), nil
}

// changes are sentences, one for each.
type changes struct{ additions, breaks []string }

// print prints the changes for somebody, and returns how many breaks are not told.
func (c changes) print(out io.Writer, of, told string) (untold int) {
	_, _ = fmt.Fprintf(out, "%s: %d additions, %d breaks\n", of, len(c.additions), len(c.breaks))
	for _, line := range c.additions {
		_, _ = fmt.Fprintln(out, "  added  ", line)
	}
	for _, line := range c.breaks {
		mark := "  told   "
		if !strings.Contains(told, words(line)) {
			mark = "  BREAKS "
			untold++
		}
		_, _ = fmt.Fprintln(out, mark, line)
	}
	return untold
}

func (c *changes) sort() {
	for _, list := range []*[]string{&c.additions, &c.breaks} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// unreleased returns the words of the section of a changelog that tells of the next release.
func unreleased(changelog string) string {
	_, section, _ := strings.Cut(changelog, "\n## [Unreleased]")
	section, _, _ = strings.Cut(section, "\n## ")
	return words(section)
}

// words has one space where lines are broken.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }
