package contract

import (
	"os"
	"path/filepath"
	"testing"
)

// environment is how a flow finds the service.
func (h *host) environment() []string {
	return []string{"FORMS_URL=" + h.url, "FORMS_KEY=" + h.key, "CONTROL_URL=" + h.control, "HOOK_URL=" + h.hook}
}

// build is an empty place for what is generated.
func build(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join("build", name)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	return dir
}

// typescript compiles a flow with everything that it imports, as strictly as the
// compiler can, and runs it.
func typescript(t *testing.T, h *host, flow string) {
	t.Helper()
	run(t, nil, node(t, "tsc"), "--project", filepath.Join("flows", flow, "tsconfig.json"))
	t.Log(run(t, h.environment(), "node", filepath.Join("build", flow, "js", "flows", flow, "flow.js")))
}

func TestOpenAPITypescriptWithOpenAPIFetch(t *testing.T) {
	t.Parallel()
	generate := node(t, "openapi-typescript")
	h := newHost(t, stores[0].open(t))
	run(t, nil, generate, h.document(t), "--output", filepath.Join(build(t, "fetch"), "api.ts"))
	typescript(t, h, "fetch")
}

func TestHeyAPI(t *testing.T) {
	t.Parallel()
	unlessShort(t)
	generate := node(t, "openapi-ts")
	h := newHost(t, stores[0].open(t))
	build(t, "hey")
	run(t, []string{"DOCUMENT=" + h.document(t)}, generate, "--file", "flows/hey/openapi-ts.config.js", "--no-log-file")
	typescript(t, h, "hey")
}

// oapiCodegen runs from the module proxy at this version.
const oapiCodegen = "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2"

func TestOapiCodegen(t *testing.T) {
	t.Parallel()
	h := newHost(t, stores[0].open(t))
	generated := filepath.Join("flows", "oapi", "client.gen.go")
	run(t, nil, "go", "run", oapiCodegen, "-generate", "types,client", "-package", "main", "-o", generated, h.document(t))
	constrain(t, generated)
	run(t, nil, "go", "vet", "-tags", "contract", "./flows/oapi")
	t.Log(run(t, h.environment(), "go", "run", "-tags", "contract", "./flows/oapi"))
}

// constrain gives generated code the build tag of the flow that it belongs to, so
// that ./... leaves it out.
func constrain(t *testing.T, file string) {
	t.Helper()
	code, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append([]byte("//go:build contract\n\n"), code...), 0o600); err != nil {
		t.Fatal(err)
	}
}
