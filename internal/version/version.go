// Package version knows which release of the module a program contains.
package version

import (
	"cmp"
	"runtime/debug"
	"strings"
	"sync"
)

const module = "github.com/formsvc/formsvc"

// String is the version that Go noted in the program, as formsvc.Version tells it.
var String = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return of(info)
})

// Product is the version as a User-Agent has it, behind a name: "formsvc/v0.1.0". What cannot
// stand there is left out, so that a checkout is "formsvc/devel".
func Product() string { return "formsvc/" + strings.Trim(String(), "()") }

func of(info *debug.BuildInfo) string {
	found := ""
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path != module {
			continue
		}
		if m.Replace != nil {
			m = m.Replace
		}
		found = m.Version
	}
	return cmp.Or(found, "(devel)")
}
