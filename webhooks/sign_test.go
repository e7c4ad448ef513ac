package webhooks

import (
	"errors"
	"strings"
	"testing"
)

func TestSignIsFrozen(t *testing.T) {
	t.Parallel()
	// The second is case 2 of RFC 4231. The last was made, and verified, by sign and verify of
	// the npm package @octokit/webhooks-methods 6.0.0.
	for _, v := range []struct{ secret, body, want string }{
		{"0123456789abcdef", `{"id":"65f0c0ffee65f0c0ffee65f0","response":{}}`, "sha256=0db010043cd9e9edb67d3d2e547322dbefe474a08c4ad08f1d458dd99e90ff00"},
		{"Jefe", "what do ya want for nothing?", "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{"key", "", "sha256=5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0"},
		{"schlüssel", "\x00\xff\r\n", "sha256=51e97e5289a524fe1debe0ba3accd2d2416bcedd2ed4ed31b3bcb139f2d8e85d"},
	} {
		if got := Sign(v.secret, []byte(v.body)); got != v.want {
			t.Errorf("Sign(%q, %q) = %s, want %s", v.secret, v.body, got, v.want)
		}
		if err := Verify(v.secret, []byte(v.body), v.want); err != nil {
			t.Errorf("Verify(%q, %q): %v", v.secret, v.body, err)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	t.Parallel()
	const secret = "0123456789abcdef"
	body := []byte(`{"id":"1"}`)
	good := Sign(secret, body)
	for name, v := range map[string]struct {
		secret    string
		body      []byte
		signature string
	}{
		"another body":      {secret, []byte(`{"id":"2"}`), good},
		"another secret":    {"fedcba9876543210", body, good},
		"no signature":      {secret, body, ""},
		"no prefix":         {secret, body, strings.TrimPrefix(good, "sha256=")},
		"another algorithm": {secret, body, "sha512=" + strings.TrimPrefix(good, "sha256=")},
		"a cut signature":   {secret, body, good[:len(good)-2]},
		"a longer one":      {secret, body, good + "00"},
		"no hexadecimal":    {secret, body, good[:len(good)-1] + "g"},
		"white space":       {secret, body, " " + good},
		"an empty secret":   {"", body, Sign("", body)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := Verify(v.secret, v.body, v.signature); !errors.Is(err, ErrSignature) {
				t.Errorf("error is %v, want ErrSignature", err)
			}
		})
	}
	if err := Verify(secret, body, "sha256="+strings.ToUpper(strings.TrimPrefix(good, "sha256="))); err != nil {
		t.Errorf("upper-case digits: %v", err)
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("0123456789abcdef", []byte("body"), "sha256=00")
	f.Add("", []byte(nil), "")
	f.Add("k", []byte{0xff}, Sign("k", []byte{0xff}))
	f.Fuzz(func(t *testing.T, secret string, body []byte, signature string) {
		own := Sign(secret, body)
		accepted := Verify(secret, body, signature) == nil
		if want := secret != "" && strings.HasPrefix(signature, "sha256=") && strings.EqualFold(signature, own); accepted != want {
			t.Errorf("Verify accepted is %v for %q, the signature is %q", accepted, signature, own)
		}
		if err := Verify(secret, body, own); (err == nil) != (secret != "") {
			t.Errorf("Verify of Sign: %v", err)
		}
		if Verify(secret, append([]byte{1}, body...), own) == nil {
			t.Error("a changed body is accepted")
		}
	})
}
