package secrets

import (
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestMistake(t *testing.T) {
	const key = "MDEyMzQ1Njc4OWFiY2RlZg=="
	for _, secret := range []string{
		" whsec_" + key, "\nwhsec_" + key, "\"whsec_" + key + "\"", "WHSEC_" + key, "Whsec_" + key, "whsec-" + key, "whsec " + key,
		"\u200bwhsec_" + key, "wh\u00adsec_" + key, "ｗｈｓｅｃ＿" + key, "SECRET=whsec_" + key, "“whsec_" + key + "”", "whsec:" + key,
		"whsec_" + key + " ", "whsec_" + key + "\n", "whsec_" + key + "'", "whsec_" + key[:22], "whsec_-_-_" + key, "whsec_" + key + "\u200b",
		"whsec_MDEyMzQ1 Njc4OWFiY2RlZg==", "whsec_",
	} {
		expect.That(t, InvalidReason(secret) != "", "%q is accepted", secret)
	}
	for _, secret := range []string{"whsec_" + key, "0123456789abcdef", " a secret with spaces\n", "whsecurity-2026!", "\"in quotes here\"", key, ""} {
		expect.Equal(t, InvalidReason(secret), "", "%q is refused", secret)
	}
}

func TestKey(t *testing.T) {
	for secret, want := range map[string]string{
		"0123456789abcdef":               "0123456789abcdef",
		"whsec_MDEyMzQ1Njc4OWFiY2RlZg==": "0123456789abcdef",
		"WHSEC_MDEyMzQ1Njc4OWFiY2RlZg":   "WHSEC_MDEyMzQ1Njc4OWFiY2RlZg",
		"whsec-not base64":               "whsec-not base64",
		"":                               "",
	} {
		key, ok := SigningKey(secret)
		expect.That(t, ok && string(key) == want, "%q has the key %q (%v), want %q", secret, key, ok, want)
	}
	for _, secret := range []string{
		"whsec_", "whsec_not base64", "whsec_MDEyMzQ1Njc4OWFiY2RlZg", "whsec_MDEyMzQ1Njc4\nOWFiY2RlZg==", "whsec_-_-_", "whsec_whsec_MDEy",
	} {
		key, ok := SigningKey(secret)
		expect.That(t, !ok, "%q has the key %q, want none", secret, key)
	}
}
