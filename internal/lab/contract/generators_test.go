package contract

import (
	"bytes"
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
	noError(t, os.RemoveAll(dir))
	noError(t, os.MkdirAll(dir, 0o750))
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
	oapi(t, "oapi", "types,client", h.document(t))
	t.Log(run(t, h.environment(), "go", "run", "-tags", "contract", "./flows/oapi"))
}

// oapi generates Go into the folder of a flow and looks at both.
func oapi(t *testing.T, flow, what, document string) {
	t.Helper()
	generated := filepath.Join("flows", flow, "client.gen.go")
	run(t, nil, "go", "run", oapiCodegen, "-generate", what, "-package", "main", "-o", generated, document)
	constrain(t, generated)
	run(t, nil, "go", "vet", "-tags", "contract", "./flows/"+flow)
}

// Who wants constants for the words of answers renames x-extensible-enum, as the description says.
func TestWordsOfAnswersAsConstants(t *testing.T) {
	t.Parallel()
	served := must(os.ReadFile(description))
	renamed := filepath.Join(t.TempDir(), "openapi.json")
	noError(t, os.WriteFile(renamed, bytes.ReplaceAll(served, []byte(`"x-extensible-enum"`), []byte(`"enum"`)), 0o600))
	oapi(t, "words", "types", renamed)
	run(t, nil, "go", "run", "-tags", "contract", "./flows/words")
	run(t, nil, node(t, "openapi-typescript"), renamed, "--output", filepath.Join(build(t, "words"), "api.ts"))
	run(t, nil, node(t, "tsc"), "--project", "flows/words/tsconfig.json")
}

// constrain gives generated code the build tag of the flow that it belongs to, so
// that ./... leaves it out.
func constrain(t *testing.T, file string) {
	t.Helper()
	code := must(os.ReadFile(file))
	noError(t, os.WriteFile(file, append([]byte("//go:build contract\n\n"), code...), 0o600))
}
