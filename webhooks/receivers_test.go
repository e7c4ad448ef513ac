package webhooks_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/webhooks"
)

// The documentation's functions for receivers in other languages tell a signature from a
// forged signature. A program that this machine does not have is left out.
func TestDocumentedReceiversVerify(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	t.Parallel()
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^//\t?`).ReplaceAllString(string(source), "")
	for program, test := range map[string]struct{ from, to, call string }{
		"python3": {"import hashlib", "\n\n With", `
import sys
print(genuine(sys.argv[1], sys.argv[2].encode(), sys.argv[3]))`},
		"node": {"const crypto", "\n\nimport", `
const [secret, body, signature] = process.argv.slice(1);
console.log(genuine(secret, Buffer.from(body), signature));`},
	} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Logf("without %s", program)
			continue
		}
		_, code, begins := strings.Cut(text, test.from)
		code, _, ends := strings.Cut(code, test.to)
		if !begins || !ends {
			t.Fatalf("the documentation has nothing for %s", program)
		}
		flag := map[string]string{"python3": "-c", "node": "-e"}[program]
		const secret, body = "a secret ü", `{"id":"65f0c0ffee65f0c0ffee65f0","response":{"é":1}}`
		good := webhooks.Sign(secret, []byte(body))
		for signature, want := range map[string]string{good: "true", good[:70] + "0": "false", "": "false"} {
			arguments := []string{flag, test.from + code + test.call}
			if program == "node" {
				arguments = append(arguments, "--") // node gives the script what follows, not "--"
			}
			out, err := exec.CommandContext(t.Context(), path, append(arguments, secret, body, signature)...).CombinedOutput()
			if got := strings.ToLower(strings.TrimSpace(string(out))); err != nil || got != want {
				t.Errorf("%s of %q: %v %s, want %s", program, signature, err, out, want)
			}
		}
	}
}
