package formpage

import (
	"slices"
	"testing"

	"github.com/formsvc/formsvc/schema"
)

// The types that the page offers and takes are those that the service takes.
func TestTypesOfFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given, want []string
		takes       [][2]string // name and type
		refuses     [][2]string
	}{
		{nil, nil, [][2]string{{"a.exe", "application/octet-stream"}}, [][2]string{{"a.png", "text/html"}}},
		{[]string{" ", ""}, nil, [][2]string{{"a", "text/plain"}}, nil},
		{[]string{"png", "*"}, nil, [][2]string{{"a.exe", "application/octet-stream"}}, nil},
		{
			[]string{"*.PNG", ".pdf", "Md", " image/* ", ".tar.gz"}, []string{".png", ".pdf", ".md", "image/*", ".tar.gz"},
			[][2]string{{"A.PNG", "image/png"}, {"a.pdf", "text/plain"}, {"a.webp", "image/webp"}, {"x.tar.gz", "application/gzip"}},
			[][2]string{{"a.png", "text/html"}, {"a.gz", "application/gzip"}, {"pdf", "application/pdf"}, {"a.txt", "text/plain"}},
		},
	} {
		b := schema.Block{Type: schema.TypeFileUpload, Properties: &schema.Properties{AllowedFiles: c.given}}
		if got := fileTypes(b.Properties); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.given, got, c.want)
		}
		for _, f := range c.takes {
			if !fits(&b, f[0], f[1]) {
				t.Errorf("%q does not take %q", c.given, f)
			}
		}
		for _, f := range c.refuses {
			if fits(&b, f[0], f[1]) {
				t.Errorf("%q takes %q", c.given, f)
			}
		}
	}
	sign := schema.Block{Type: schema.TypeSignature}
	if fits(&sign, "a.gif", "image/gif") || !fits(&sign, "a.png", "image/png") {
		t.Error("a signature is a png, jpeg or webp picture")
	}
}

func TestMegabytesAsPeopleAreTold(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]float64{10 << 20: 10, 11<<20 - 1: 10, 1 << 19: 0.5, 300_000: 0.28, 5: 0.01} {
		if got := megabytes(bytes); got != want {
			t.Errorf("%d: %v, want %v", bytes, got, want)
		}
	}
}
