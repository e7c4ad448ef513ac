package policy

import (
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestOrigins(t *testing.T) {
	for raw, want := range map[string]string{
		"https://bücher.example/x.png": "https://xn--bcher-kva.example", "http://BÜCHER.example:8080/": "http://xn--bcher-kva.example:8080",
		"https://a.example;x/": "", "https://\u2028/": "", "https://Plain.example": "https://plain.example", "https://[::1]:80/": "https://[::1]:80",
	} {
		expect.Equal(t, ParseOrigin(raw), want, "%v the origin of", raw)
	}
}
