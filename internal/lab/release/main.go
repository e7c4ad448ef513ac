// Command release keeps the modules of this repository ready for their release:
//
//	go run ./internal/lab/release tidy [-check]
//	go run ./internal/lab/release proxy folder
//
// The first writes go.mod and go.sum of every module, and go.work, as internal/docs/release.md
// says. With -check it writes nothing and fails when there would be something to write.
//
// The second releases a copy of the tree into a folder and prints the settings with which the
// go command takes the release from there. Nothing of it stays in the user's own module cache.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "tidy":
		files, err := tidy(ctx, ".")
		return errors.Join(err, write(".", files))
	case len(args) == 2 && args[0] == "tidy" && args[1] == "-check":
		return check(ctx, ".")
	case len(args) == 2 && args[0] == "proxy":
		dir, err := filepath.Abs(args[1])
		if err != nil {
			return err
		}
		p, err := release(ctx, ".", dir)
		for _, setting := range p.settings() {
			fmt.Printf("export '%s'\n", setting)
		}
		return err
	}
	return errors.New("want tidy, tidy -check, or proxy and a folder")
}
