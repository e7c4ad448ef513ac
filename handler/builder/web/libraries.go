package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

type library struct{ name, of string }

// libraries is in dependency order. Each file contains one module and bundles its other dependencies, such as tslib.
var libraries = []library{
	{"preact", "preact"},
	{"preact/hooks", "preact"},
	{"preact/jsx-runtime", "preact"},
	{"@preact/signals-core", "@preact/signals-core"},
	{"@preact/signals", "@preact/signals"},
	{"@atlaskit/pragmatic-drag-and-drop/element/adapter", "@atlaskit/pragmatic-drag-and-drop"},
	{"@atlaskit/pragmatic-drag-and-drop/combine", "@atlaskit/pragmatic-drag-and-drop"},
	{"@atlaskit/pragmatic-drag-and-drop-hitbox/closest-edge", "@atlaskit/pragmatic-drag-and-drop-hitbox"},
	{"lean-qr", "lean-qr"},
}

func (l library) file() string {
	return strings.NewReplacer("@", "", "/", "-").Replace(l.name) + ".mjs"
}

func copyLibraries() error {
	var notices bytes.Buffer
	noted := map[string]bool{}
	for _, l := range libraries {
		options := api.BuildOptions{
			EntryPoints: []string{l.name}, Outfile: filepath.Join("libraries", l.file()), Write: true, Bundle: true,
			Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2022, LegalComments: api.LegalCommentsInline, Charset: api.CharsetUTF8,
		}
		for _, other := range libraries {
			if other != l {
				options.External = append(options.External, other.name)
			}
		}
		if _, err := build(options); err != nil {
			return err
		}
		if noted[l.of] {
			continue
		}
		noted[l.of] = true
		if err := appendNotice(&notices, l.of); err != nil {
			return err
		}
	}
	if err := copyIcons(); err != nil {
		return err
	}
	for _, name := range []string{"lucide-static", "@babel/runtime", "bind-event-listener", "raf-schd"} {
		if err := appendNotice(&notices, name); err != nil {
			return err
		}
	}
	return os.WriteFile(licenses, notices.Bytes(), 0o600)
}

func appendNotice(to *bytes.Buffer, name string) error {
	dir := filepath.Join("node_modules", name)
	raw, err := os.ReadFile(filepath.Join(dir, "package.json")) //nolint:gosec // installed by npm
	if err != nil {
		return err
	}
	var about struct{ Version, License string }
	if err := json.Unmarshal(raw, &about); err != nil {
		return err
	}
	fmt.Fprintf(to, "%s %s (%s)\n\n", name, about.Version, about.License)
	found, err := filepath.Glob(filepath.Join(dir, "LICENSE*"))
	if err != nil {
		return err
	}
	for _, file := range found {
		text, err := os.ReadFile(file) //nolint:gosec // installed by npm
		if err != nil {
			return err
		}
		fmt.Fprintf(to, "%s\n\n", bytes.TrimSpace(text))
	}
	return nil
}

var inSVG = regexp.MustCompile(`(?s)<svg[^>]*>(.*)</svg>`)

// copyIcons writes the icons listed in icons.txt, without the outer SVG element. Each icon is drawn on a 24 by 24 grid.
func copyIcons() error {
	names, err := os.ReadFile("libraries/icons.txt")
	if err != nil {
		return err
	}
	out := bytes.NewBufferString("// Icons of Lucide (ISC), made by go run . -libraries from libraries/icons.txt.\nexport const icons = {\n")
	for _, name := range strings.Fields(string(names)) {
		svg, err := os.ReadFile(filepath.Join("node_modules/lucide-static/icons", name+".svg"))
		if err != nil {
			return err
		}
		inner := inSVG.FindSubmatch(svg)
		if inner == nil {
			return fmt.Errorf("the icon %s is not an SVG file", name)
		}
		fmt.Fprintf(out, "  '%s': '%s',\n", name, strings.Join(strings.Fields(string(inner[1])), " "))
	}
	out.WriteString("} as const;\n\nexport type IconName = keyof typeof icons;\n")
	return os.WriteFile("src/ui/icons.gen.ts", out.Bytes(), 0o600)
}
