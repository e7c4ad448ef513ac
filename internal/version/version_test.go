package version

import (
	"runtime/debug"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestOf(t *testing.T) {
	host := debug.Module{Path: "example.com/host", Version: "v7.0.0"}
	dep := func(m debug.Module) []*debug.Module {
		return []*debug.Module{{Path: module + "/examples/otel", Version: "v9.9.9"}, &m, {Path: "example.com/z", Version: "v8.8.8"}}
	}
	for _, c := range []struct {
		name string
		info debug.BuildInfo
		want string
	}{
		{"a host's dependency", debug.BuildInfo{Main: host, Deps: dep(debug.Module{Path: module, Version: "v0.1.0"})}, "v0.1.0"},
		{"a fork in its place", debug.BuildInfo{Main: host, Deps: dep(debug.Module{Path: module, Version: "v0.1.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v0.1.1-fork"}})}, "v0.1.1-fork"},
		{"a folder in its place", debug.BuildInfo{Main: host, Deps: dep(debug.Module{Path: module, Version: "v0.1.0", Replace: &debug.Module{Path: "../formsvc"}})}, "(devel)"},
		{"a program of the module itself", debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.1.0"}, Deps: dep(debug.Module{Path: "example.com/a", Version: "v1.0.0"})}, "v0.1.0"},
		{"a commit of a checkout", debug.BuildInfo{Main: debug.Module{Path: module, Version: "v0.1.1-0.20261126110315-443cf27a1b2c+dirty"}}, "v0.1.1-0.20261126110315-443cf27a1b2c+dirty"},
		{"go run in a checkout", debug.BuildInfo{Main: debug.Module{Path: module, Version: "(devel)"}}, "(devel)"},
		{"a workspace", debug.BuildInfo{Main: debug.Module{Path: module + "/examples/otel", Version: "v9.9.9"}, Deps: dep(debug.Module{Path: module, Version: "(devel)"})}, "(devel)"},
		{"another build system", debug.BuildInfo{}, "(devel)"},
		{"a host without a note of it", debug.BuildInfo{Main: host}, "(devel)"},
	} {
		expect.Equal(t, fromBuildInfo(&c.info), c.want, "%s", c.name)
	}
}
