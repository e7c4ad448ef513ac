// Package version finds the release of the module that a program contains.
package version

import (
	"cmp"
	"runtime/debug"
	"sync"
)

const module = "github.com/formsvc/formsvc"

// String is the version that Go noted in the program, as formsvc.Version tells it.
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
