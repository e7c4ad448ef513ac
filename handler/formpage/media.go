package formpage

import (
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/plain"
	"github.com/formsvc/formsvc/schema"
)

// policy collects what a page may load: its own files, and exactly the hosts of the
// author's media, of embeds and of the host's verifier.
type policy struct{ images, frames, media, scripts, connects, styles []string }

func newPolicy() *policy { return &policy{} }

func (p *policy) header(nonce string, ancestors []string) string {
	if len(ancestors) == 0 {
		ancestors = []string{"'self'"}
	}
	sources := func(name string, own string, list []string) string {
		all := slices.Compact(slices.Sorted(slices.Values(list)))
		if own == "" && len(all) == 0 {
			return ""
		}
		return "; " + strings.Join(strings.Fields(name+" "+own+" "+strings.Join(all, " ")), " ")
	}
	return "default-src 'none'; base-uri 'none'; object-src 'none'; frame-ancestors " + strings.Join(ancestors, " ") +
		sources("style-src", "'self' 'nonce-"+nonce+"'", p.styles) +
		sources("script-src", "'self' 'nonce-"+nonce+"'", p.scripts) +
		sources("connect-src", "'self'", p.connects) +
		sources("form-action", "'self'", nil) +
		sources("img-src", "'self'", p.images) +
		sources("media-src", "", p.media) +
		sources("frame-src", "", p.frames)
}

// originOf returns the origin of an absolute http or https URL as a source of a
// policy, "" for everything else, and for a URL with a user name, which makes a foreign
// host look like a known one.
func originOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	if strings.ContainsFunc(u.Host, func(c rune) bool { return c > '~' }) {
		ascii, err := idna.Lookup.ToASCII(u.Hostname())
		if err != nil {
			return ""
		}
		if port := u.Port(); port != "" {
			ascii += ":" + port
		}
		u.Host = ascii
	}
	// What may stand in a host, and nothing that ends a source or a directive.
	if strings.ContainsFunc(u.Host, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`;,'"*\<>`, c)
	}) {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// webLink returns an address that is fit for a link: http, https, or one of the other
// schemes. "" for everything else.
func webLink(raw string, schemes ...string) template.URL {
	if originOf(raw) != "" {
		return template.URL(raw) //nolint:gosec // http or https
	}
	if scheme, _, ok := strings.Cut(raw, ":"); ok && slices.Contains(schemes, strings.ToLower(scheme)) {
		return template.URL(raw) //nolint:gosec // one of the schemes
	}
	return ""
}

// maxInline is how large an image may be that stands in the definition itself.
const maxInline = 256 << 10

// picture allows an image and returns it, nil when it cannot be shown.
func (p *policy) picture(image *schema.Image, alt string) *picture {
	if image == nil {
		return nil
	}
	pic := &picture{Alt: alt}
	if image.Width != nil && image.Height != nil && *image.Width > 0 && *image.Height > 0 {
		pic.Width, pic.Height = formblock.Positive(image.Width), formblock.Positive(image.Height)
	}
	if origin := originOf(image.URL); origin != "" {
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

// frame allows an address in a frame and returns it.
func (p *policy) frame(link string) string {
	if origin := originOf(link); origin != "" {
		p.frames = append(p.frames, origin)
		return link
	}
	return ""
}

// video shows a file with the browser's player, and films of the two great platforms
// in a frame that is loaded after a click. Others are a link.
func (b *builder) video(f *field, link string) {
	f.Link = webLink(link)
	u, err := url.Parse(link)
	if f.Link == "" || err != nil {
		return
	}
	first, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	switch host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www."); {
	case host == "youtu.be":
		b.youtube(f, first)
	case host == "youtube.com" || host == "m.youtube.com" || host == "youtube-nocookie.com":
		switch first {
		case "watch":
			b.youtube(f, u.Query().Get("v"))
		case "shorts", "embed", "live":
			b.youtube(f, rest)
		}
	case host == "vimeo.com":
		if plain.IsName(first) && strings.Trim(first, "0123456789") == "" {
			f.Frame = b.policy.frame("https://player.vimeo.com/video/" + first + "?dnt=1")
		}
	case slices.Contains([]string{".mp4", ".webm", ".ogv", ".m4v", ".mov"}, strings.ToLower(path.Ext(u.Path))):
		f.Video = link
		b.policy.media = append(b.policy.media, originOf(link))
	}
}

func (b *builder) youtube(f *field, id string) {
	if plain.IsName(id) {
		f.Frame = b.policy.frame("https://www.youtube-nocookie.com/embed/" + id)
	}
}

type picture struct {
	URL           template.URL
	Alt           string
	Width, Height int
}

// picture reads a free JSON value that may be an image: an address, or an object with
// one. Others are no picture.
func (b *builder) picture(raw json.RawMessage, alt string) *picture {
	if len(raw) == 0 {
		return nil
	}
	known, ok := b.pictures[&raw[0]]
	if !ok {
		var image schema.Image
		if json.Unmarshal(raw, &image.URL) == nil || json.Unmarshal(raw, &image) == nil {
			known = b.policy.picture(&image, "")
		}
		b.pictures[&raw[0]] = known
	}
	if known == nil || len(known.URL) > b.pen.room {
		b.pen.full = b.pen.full || known != nil
		return nil
	}
	pic := *known
	pic.Alt = alt
	return &pic
}
