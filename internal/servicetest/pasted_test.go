package servicetest_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/internal/servicetest"
	"github.com/formsvc/formsvc/schema"
)

// What people paste has characters that nobody sees: names lose them, and URLs and signing
// secrets with them are refused, over HTTP and in Go.
func TestPastedNamesURLsAndSecrets(t *testing.T) {
	t.Parallel()
	b := servicetest.Setup(t, servicetest.Loopback(), formsvc.WithoutRateLimit())
	form := b.Form(servicetest.TextBlock, `{}`)
	const pasted, want = "\u200b Customer\u00ad survey \U0001f3f4\U000e0067\U000e007f\u2060", "Customer survey \U0001f3f4\U000e0067\U000e007f"
	var named struct{ Name string }
	for _, c := range [][3]string{
		{http.MethodPatch, "/forms/" + form.String(), `{"name":"` + pasted + `"}`},
		{http.MethodPost, "/workspaces", `{"name":"` + pasted + `"}`},
		{http.MethodPatch, "/forms/" + form.String(), `{"name":"` + strings.Repeat("a", 200) + `\u200b"}`},
	} {
		w := b.Do(c[0], c[1], c[2], &named)
		if w.Code >= 300 || named.Name != want && named.Name != strings.Repeat("a", 200) {
			t.Errorf("%s %s: %d, %+q", c[0], c[1], w.Code, named.Name)
		}
	}
	name := pasted
	if f, err := b.AsHost().UpdateForm(t.Context(), form, formsvc.FormUpdate{Name: &name}); err != nil || f.Name != want {
		t.Errorf("UpdateForm: %v, %+q", err, f.Name)
	}
	key, err := b.CreateKey(t.Context(), formsvc.KeyRequest{User: formsvc.User{ID: formsvc.UserIDFrom("u")}, Name: pasted, Scopes: []formsvc.Scope{formsvc.ScopeFormsRead}})
	if err != nil || key.Key.Name != want {
		t.Errorf("CreateKey: %v, %+q", err, key.Key.Name)
	}
	for _, bad := range []string{"\u202ename", "na\u2066me", "\u200b\u200d"} {
		if w := b.Do(http.MethodPatch, "/forms/"+form.String(), `{"name":"`+bad+`"}`, nil); w.Code != 422 {
			t.Errorf("name %+q: %d", bad, w.Code)
		}
	}

	for url, want := range map[string]int{
		"https://example.com/a\u200bb": 422, "https://exam\u00adple.com/": 422, "https://exam\u200dple.com/": 422, "\ufeffhttps://example.com/": 422,
		"https://example.com/\u202ea": 422, "https://fa.example.com/می\u200cشود": 200, "https://example.com/❤\ufe0f": 200,
	} {
		for _, settings := range []string{`{"settings":{"redirectUrl":"` + url + `"}}`, `{"blocks":[{"id":"e","type":"embed","properties":{"embedLink":"` + url + `"}}]}`} {
			if w := b.Do(http.MethodPatch, "/forms/"+form.String(), `{"definition":`+settings+`}`, nil); w.Code != want {
				t.Errorf("%+q: %d %s, want %d", settings, w.Code, w.Body, want)
			}
		}
	}
	for _, url := range []string{"http://127.0.0.1/a\u200b", "http://127.0.0.1/\u202ea", "\u2060http://127.0.0.1/"} {
		if w := b.Do(http.MethodPost, "/webhooks", `{"form_id":"`+form.String()+`","url":"`+url+`"}`, nil); w.Code != 422 {
			t.Errorf("webhook %+q: %d", url, w.Code)
		}
	}

	hook := b.Webhook(form, "http://127.0.0.1/", servicetest.Secret)
	for _, secret := range []string{" whsec_MDEyMzQ1Njc4OWFiY2RlZg==", "WHSEC_MDEyMzQ1Njc4OWFiY2RlZg==", "whsec_MDEyMzQ1Njc4OWFiY2RlZg", "whsec_MDEyMzQ1Njc4OWFiY2RlZg==\n"} {
		text, _ := json.Marshal(secret)
		if w := b.Do(http.MethodPatch, "/webhooks/"+hook.String(), `{"signing_secret":`+string(text)+`}`, nil); w.Code != 422 {
			t.Errorf("secret %q in a PATCH: %d", secret, w.Code)
		}
		_, err := b.AsHost().CreateWebhook(t.Context(), formsvc.WebhookCreate{Form: form, URL: "http://127.0.0.1/", SigningSecret: secret})
		if !errors.As(err, new(*schema.Error)) {
			t.Errorf("secret %q in Go: %v", secret, err)
		}
	}
}
