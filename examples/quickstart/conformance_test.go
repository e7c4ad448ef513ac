package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// The command that the quickstart prints passes as it is pasted, and no case is left out by name.
func TestThePrintedCommandPasses(t *testing.T) {
	t.Parallel()
	q := start(t)
	_, command, _ := strings.Cut(q.printed, "Conformance: ")
	words := strings.Fields(command)
	expect.Require(t, len(words) != 0 && !strings.Contains(command, "-skip"), "the command is %q", command)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	var report, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &report, &complaints
	err := cmd.Run()
	expect.Require(t, err == nil, "%v\n%s%s", err, &report, &complaints)
	var ran, all int
	_, err = fmt.Sscanf(report.String(), "%d of %d; the rest needs", &ran, &all)
	expect.That(t, err == nil && ran >= 150, "%d of %d cases ran, want at least 150\n%s", ran, all, &report)
	t.Log(strings.SplitN(report.String(), "\n", 2)[0])
}
