package secrets

import "testing"

func TestKey(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{
		"0123456789abcdef":               "0123456789abcdef",
		"whsec_MDEyMzQ1Njc4OWFiY2RlZg==": "0123456789abcdef",
		"WHSEC_MDEyMzQ1Njc4OWFiY2RlZg":   "WHSEC_MDEyMzQ1Njc4OWFiY2RlZg",
		"whsec-not base64":               "whsec-not base64",
		"":                               "",
	} {
		if key, ok := Key(secret); !ok || string(key) != want {
			t.Errorf("%q has the key %q (%v), want %q", secret, key, ok, want)
		}
	}
	for _, secret := range []string{
		"whsec_", "whsec_not base64", "whsec_MDEyMzQ1Njc4OWFiY2RlZg", "whsec_MDEyMzQ1Njc4\nOWFiY2RlZg==", "whsec_-_-_", "whsec_whsec_MDEy",
	} {
		if key, ok := Key(secret); ok {
			t.Errorf("%q has the key %q, want none", secret, key)
		}
	}
}
