package webhooks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/webhooks"
)

// A body as events have it, with characters outside ASCII in the body and in the
// secret. octokitSignature was made, and verified, by sign and verify of the npm
// package @octokit/webhooks-methods 6.0.0.
const (
	octokitSecret = "0123456789abcdef-öctokit"
	octokitBody   = `{"id":"65f0c0ffee65f0c0ffee65f0","response":{"formId":"65f0c0ffee65f0c0ffee65f1",` +
		`"answers":{"name":"Zoë 🦊 \u2028","score":9},"submissionId":"65f0c0ffee65f0c0ffee65f2",` +
		`"submittedAt":"2026-11-20T11:00:00Z","hidden":{},"metadata":{"country":"DE"},"completionTime":12.5}}`
	octokitSignature = "sha256=22b0448b3096d185798f6f6319d4bc4f9d9ce1575ccefd6441e6690960da57de"
)

func TestSignaturesAreThoseOfOctokit(t *testing.T) {
	t.Parallel()
	if got := webhooks.Sign(octokitSecret, []byte(octokitBody)); got != octokitSignature {
		t.Errorf("Sign = %s, Octokit's is %s", got, octokitSignature)
	}
	if err := webhooks.Verify(octokitSecret, []byte(octokitBody), octokitSignature); err != nil {
		t.Errorf("Verify of Octokit's signature: %v", err)
	}
}

// octokitModules names the folder node_modules that has @octokit/webhooks-methods.
const octokitModules = "FORMSVC_TEST_OCTOKIT"

// octokitVerifier reads secret, body and signature, and says "true" or "false".
const octokitVerifier = `
import { verify } from "./node_modules/@octokit/webhooks-methods/dist-node/index.js";
const [secret, body, signature] = process.argv.slice(2);
console.log(await verify(secret, body, signature));
`

// Octokit's own code accepts what Sign makes, and nothing else. To run it:
//
//	npm install --prefix /some/folder @octokit/webhooks-methods
//	FORMSVC_TEST_OCTOKIT=/some/folder/node_modules go test ./webhooks -run Octokit
func TestOctokitVerifiesSignatures(t *testing.T) {
	t.Parallel()
	modules := os.Getenv(octokitModules)
	if modules == "" {
		t.Skipf("%s is not set", octokitModules)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("no Node.js: %v", err)
	}
	dir := t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "verify.mjs")
	if err := os.WriteFile(program, []byte(octokitVerifier), 0o600); err != nil {
		t.Fatal(err)
	}
	signature := webhooks.Sign(octokitSecret, []byte(octokitBody))
	for _, c := range []struct{ name, secret, body, want string }{
		{"the body that was signed", octokitSecret, octokitBody, "true"},
		{"another body", octokitSecret, octokitBody + " ", "false"},
		{"another secret", octokitSecret + "x", octokitBody, "false"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), node, program, c.secret, c.body, signature).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("verify = %q (%v), want %q", got, err, c.want)
			}
		})
	}
}
