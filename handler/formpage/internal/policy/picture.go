package policy

import (
	"encoding/base64"
	"html/template"
	"math"
	"net/http"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// Picture is an image as a page shows it.
type Picture struct {
	URL           template.URL
	Alt           string
	Width, Height int
}

// maxInline is how large an image may be that stands in the definition itself.
const maxInline = 256 << 10

// Picture allows an image and returns it, nil when it cannot be shown.
func (p *Policy) Picture(image *schema.Image) *Picture {
	if image == nil {
		return nil
	}
	pic := new(Picture)
	if image.Width != nil && image.Height != nil && *image.Width > 0 && *image.Height > 0 {
		pic.Width, pic.Height = positive(image.Width), positive(image.Height)
	}
	if origin := Origin(image.URL); origin != "" {
		p.images = append(p.images, origin)
		pic.URL = template.URL(image.URL) //nolint:gosec // http or https
		return pic
	}
	text := image.Base64
	if _, after, ok := strings.Cut(text, ";base64,"); ok {
		text = after
	}
	raw, err := base64.StdEncoding.DecodeString(text)
	if text == "" || len(text) > maxInline || err != nil {
		return nil
	}
	switch kind := http.DetectContentType(raw); kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		p.images = append(p.images, "data:")
		pic.URL = template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(raw)) //nolint:gosec // an image that was decoded
		return pic
	}
	return nil
}

// positive returns n where it is above 0, else 0.
func positive(n *schema.Integer) int {
	if n == nil || *n <= 0 || *n > math.MaxInt32 {
		return 0
	}
	return int(*n)
}
