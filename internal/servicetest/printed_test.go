package servicetest_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
)

// Whatever holds a secret shows none of it, wherever it stands in what is printed,
// logged or made JSON of.
func TestNoSecretIsPrinted(t *testing.T) {
	t.Parallel()
	const secret = "s3cret-that-nobody-reads"
	given := secret
	key := formsvc.IssuedKey{Key: formsvc.Key{Prefix: "fs_live_ab12", Name: "named"}, Secret: secret}
	hook := formsvc.WebhookCreate{URL: "https://named.example/", SigningSecret: secret}
	update := formsvc.WebhookUpdate{SigningSecret: &given}
	for name, v := range map[string]any{
		"a key": key, "a webhook": hook, "an update": update, "pointers": []any{&key, &hook, &update},
		"a struct": struct {
			Key    formsvc.IssuedKey
			Hook   *formsvc.WebhookCreate
			Update formsvc.WebhookUpdate
		}{key, &hook, update},
		"slices": struct {
			Keys  []formsvc.IssuedKey
			Hooks [1]formsvc.WebhookCreate
		}{[]formsvc.IssuedKey{key}, [1]formsvc.WebhookCreate{hook}},
		"maps":     map[string]any{"key": map[string]formsvc.IssuedKey{"": key}, "hooks": map[string]*formsvc.WebhookCreate{"": &hook}},
		"embedded": struct{ formsvc.WebhookCreate }{hook},
	} {
		check := func(how, text string) {
			t.Helper()
			if lower := strings.ToLower(text); strings.Contains(lower, secret) || strings.Contains(lower, hex.EncodeToString([]byte(secret))) {
				t.Errorf("%s, %s: the secret is shown: %s", name, how, text)
			}
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%d", "%s", "%q", "%x", "%X", "%+q", "%40v", "%t"} {
			check(verb, fmt.Sprintf(verb, v))
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		check("JSON", string(text))
		for how, handler := range map[string]func(io.Writer, *slog.HandlerOptions) slog.Handler{
			"slog's text": func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewTextHandler(w, o) },
			"slog's JSON": func(w io.Writer, o *slog.HandlerOptions) slog.Handler { return slog.NewJSONHandler(w, o) },
		} {
			var out bytes.Buffer
			slog.New(handler(&out, nil)).Info("x", "error", v, slog.Group("reason", "key", v))
			check(how, out.String())
		}
	}

	// What is no secret is there, and what was given stays as it was.
	for text, want := range map[string]string{
		fmt.Sprint(key): "fs_live_ab12…", fmt.Sprintf("%#v", key): "fs_live_ab12…",
		fmt.Sprintf("%+v", hook): "https://named.example/", fmt.Sprintf("%v", &hook): "…",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
	for want, v := range map[string]any{
		`{"Key":{"ID":"000000000000000000000000"`: key, `"SigningSecret":"…"`: hook,
		`"SigningSecret":""`: formsvc.WebhookCreate{}, `{"URL":null,"Enabled":null,"SigningSecret":"…"}`: update,
	} {
		if text, err := json.Marshal(v); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
	if key.Secret != secret || hook.SigningSecret != secret || *update.SigningSecret != secret {
		t.Error("printing changed a value")
	}
	var read formsvc.WebhookCreate
	if err := json.Unmarshal([]byte(`{"SigningSecret":"`+secret+`"}`), &read); err != nil || read.SigningSecret != secret {
		t.Errorf("a signing secret is not read from JSON: %v", err)
	}
}
