// Package version determines which version of the module a program uses.
package version

import (
	"cmp"
	"runtime/debug"
	"sync"
)

const module = "github.com/formsvc/formsvc"

// String returns the version from the program's build information. See formsvc.Version.
var String = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = new(debug.BuildInfo)
	}
	return fromBuildInfo(info)
})

func fromBuildInfo(info *debug.BuildInfo) string {
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
