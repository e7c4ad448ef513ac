// Command web builds the builder's scripts and style sheets from the folders src and styles. It writes
// them to the folder dist of package builder:
//
//	go run .           bundles
//	go run . -check    fails if dist is out of date
//	go run . -test     runs the tests in src with Node
//	go run . -libraries   bundles the libraries from node_modules (npm ci), with their licenses
//
// Only -test needs Node, and only -libraries needs npm. npx tsc checks the types.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	check := flag.Bool("check", false, "check that dist is up to date")
	test := flag.Bool("test", false, "run the tests")
	take := flag.Bool("libraries", false, "copy the libraries from node_modules")
	flag.Parse()
	err := os.Chdir(sourceDir())
	switch {
	case err != nil:
	case *test:
		err = runTests(flag.Args())
	case *take:
		err = bundleLibraries()
	default:
		err = bundle(*check)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		os.Exit(1)
	}
}

func sourceDir() string {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) { // -trimpath removes the directory, but go run -C has changed to it
		return "."
	}
	return filepath.Dir(file)
}

const (
	output = "../dist"
	most   = 150_000 // compressed bytes, for all outputs together

	licenses = "libraries/LICENSES.txt" // of the bundled libraries
)

// bundle writes the bundles to dist or, if check is set, compares them with the files there. Every page loads app.js.
// Form pages in the builder also load form.js. Code that both need is in chunk.js.
func bundle(check bool) error {
	made, err := buildOutputs()
	if err != nil {
		return err
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(made)) {
		packed, err := compress(made[name])
		if err != nil {
			return err
		}
		total += len(packed)
		path := filepath.Join(output, name+".gz")
		if !check {
			if err := os.WriteFile(path, packed, 0o600); err != nil {
				return err
			}
			fmt.Printf("%s: %d bytes, %d compressed\n", name, len(made[name]), len(packed))
			continue
		}
		stored, err := decompress(path)
		if err != nil {
			return err
		}
		if !bytes.Equal(stored, made[name]) {
			return fmt.Errorf("%s is out of date: run \"go run .\" in handler/builder/web", path)
		}
	}
	stored, err := filepath.Glob(filepath.Join(output, "*"))
	if err != nil {
		return err
	}
	for _, path := range stored {
		if made[strings.TrimSuffix(filepath.Base(path), ".gz")] == nil {
			return fmt.Errorf("no source generates %s", path)
		}
	}
	if total > most {
		return fmt.Errorf("the size of %d bytes exceeds the limit of %d", total, most)
	}
	return nil
}

func buildOutputs() (map[string][]byte, error) {
	made := map[string][]byte{}
	for _, entry := range []string{"src/app.tsx", "styles/app.css", "styles/dark.css"} {
		options := buildOptions()
		options.EntryPoints, options.Outdir = []string{entry}, "."
		options.Splitting, options.ChunkNames, options.EntryNames = true, "[name]", "[name]"
		options.MinifySyntax, options.MinifyWhitespace, options.MinifyIdentifiers = true, true, true
		options.LegalComments = api.LegalCommentsNone
		options.Banner = map[string]string{"js": "/* Licenses: licenses.txt */"}
		files, err := build(options)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			made[filepath.Base(f.Path)] = f.Contents
		}
	}
	text, err := os.ReadFile(licenses)
	made["licenses.txt"] = text
	return made, err
}

// buildOptions returns the options that all builds share. It maps library imports to the folder libraries.
func buildOptions() api.BuildOptions {
	alias := map[string]string{}
	for _, l := range libraries {
		alias[l.name] = "./libraries/" + l.outputFileName()
	}
	return api.BuildOptions{
		Bundle: true, Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2022,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", Alias: alias, Charset: api.CharsetUTF8,
	}
}

func build(options api.BuildOptions) ([]api.OutputFile, error) {
	made := api.Build(options)
	var errs []error
	for _, m := range append(made.Errors, made.Warnings...) {
		text := m.Text
		if m.Location != nil {
			text = fmt.Sprintf("%s:%d: %s", m.Location.File, m.Location.Line, text)
		}
		errs = append(errs, errors.New(text))
	}
	return made.OutputFiles, errors.Join(errs...)
}

func compress(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(content)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}

func decompress(path string) ([]byte, error) {
	packed, err := os.ReadFile(path) //nolint:gosec // written by this program
	if err != nil {
		return nil, err
	}
	content, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(content)
}

// runTests bundles the tests and runs them with Node. If names is not empty, the path of each test must contain a name.
func runTests(names []string) error {
	dir, err := os.MkdirTemp("", "web")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	options := buildOptions()
	options.Platform, options.Outdir, options.Write = api.PlatformNode, dir, true
	options.OutExtension = map[string]string{".js": ".mjs"}
	options.Sourcemap = api.SourceMapInline
	tests, err := filepath.Glob("src/*/*.test.ts*")
	if err != nil {
		return err
	}
	for _, path := range tests {
		if len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return strings.Contains(path, name) }) {
			options.EntryPoints = append(options.EntryPoints, path)
		}
	}
	made, err := build(options)
	if err != nil {
		return err
	}
	args := []string{"--enable-source-maps", "--test"}
	for _, file := range made {
		args = append(args, file.Path)
	}
	node := exec.Command("node", args...) //nolint:gosec,noctx // the tests of this folder, until they end
	node.Stdout, node.Stderr = os.Stdout, os.Stderr
	return node.Run()
}
