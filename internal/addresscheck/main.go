// Command addresscheck reads IP addresses, one a line, and prints one line for
// each: "public" when webhooks are sent there, else "refused". It asks the guard
// for a URL with the address as its host, as a caller of the API would.
//
// The comparison in internal/ssrfdiff, a module of its own, runs it.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/formsvc/formsvc/webhooks"
)

func main() {
	guard := webhooks.NewGuard(webhooks.GuardConfig{})
	in := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for in.Scan() {
		host := in.Text()
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		verdict := "public\n"
		if guard.CheckURL("http://"+host+"/") != nil {
			verdict = "refused\n"
		}
		_, _ = out.WriteString(verdict) // Flush tells of errors
	}
	if err := in.Err(); err != nil {
		fail(err)
	}
	if err := out.Flush(); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "addresscheck:", err)
	os.Exit(1)
}
