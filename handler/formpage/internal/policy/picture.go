package policy

import (
	"encoding/base64"
	"html/template"
	"net/http"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
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
		pic.Width, pic.Height = formblock.Positive(image.Width), formblock.Positive(image.Height)
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
