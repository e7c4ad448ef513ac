package formpage_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
)

// Nothing that holds a secret of the pages prints it: as text, as numbers or in base64.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	key := []byte("kkkkkkkkkkkkkkkkkkkk")
	keys := formpage.CaptchaKeys{SiteKey: "site", Secret: string(key)}
	config := formpage.Config{Secret: key, FormerSecrets: [][]byte{key}, Verifiers: map[string]formpage.Verifier{"turnstile": formpage.Turnstile(keys)}}
	pages := must(formpage.New(newService(), config))
	type nested struct {
		Config any
		List   []any
	}
	values := []any{config.Secret, config.FormerSecrets, keys, &keys, config, &config, pages, formpage.Turnstile(keys), formpage.HCaptcha(keys)}
	for _, v := range values {
		for _, v := range []any{v, nested{v, []any{v}}, &nested{v, nil}, map[string]any{"k": v}} {
			var out bytes.Buffer
			for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%s", "%q", "%x", "%X", "% x", "%c", "%U", "%b", "%o"} {
				fmt.Fprintf(&out, verb+"\n", v)
			}
			fmt.Fprintln(&out, v)
			for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
				slog.New(h).Info("x", "v", v, slog.Group("g", "v", v))
			}
			if raw, err := json.Marshal(v); err == nil { // a Config has functions, which are no JSON
				out.Write(raw)
			}
			text := strings.ToLower(out.String())
			for _, shown := range []string{"kkkk", "k k k", "107 107", "6b6b", "6b 6b", "0x6b, 0x6b", "a2tr", "1101011 1101011", "153 153", "u+006b u+006b"} {
				if strings.Contains(text, shown) {
					t.Errorf("%T prints %q: %s", v, shown, text[:min(len(text), 2000)])
				}
			}
		}
	}
	if got := fmt.Sprintf("%v %v", keys, config.FormerSecrets); got != "{site [secret]} [secret]" {
		t.Errorf("printed is %s", got)
	}
}
