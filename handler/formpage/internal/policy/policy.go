// Package policy defines which URLs a page can load and link to, and which names its HTML can contain.
package policy

import (
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/idna"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/schema"
)

// Policy collects the sources that a page may load: its own files, and exactly the
// hosts of the author's media, of embeds and of the host's verifier.
type Policy struct {
	Own Hosts // no frame shows these

	images, frames, media, scripts, connects, styles []string
}

// Header is the Content-Security-Policy of a page with a nonce, which the ancestors may show in a frame.
func (p *Policy) Header(nonce string, ancestors []string) string {
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

// CanvasHeader is the policy of a form that its editor sees: nothing runs there and nothing is sent. What the
// editor draws into it may show images of any host. Pages of its own origin may show it in a frame, and below
// them the other ancestors.
func CanvasHeader(nonce string, ancestors []string) string {
	return "default-src 'none'; base-uri 'none'; object-src 'none'; script-src 'none'; form-action 'none'; frame-ancestors " +
		strings.Join(append([]string{"'self'"}, ancestors...), " ") + "; " +
		"style-src 'nonce-" + nonce + "'; img-src 'self' data: http: https:; media-src http: https:"
}

// AllowFrame allows an address in a frame and returns it, or "" if no frame may show it. A frame with
// a page of the site's own would act with the cookies of who looks at the form.
func (p *Policy) AllowFrame(link string) string {
	if origin := Origin(link); origin != "" && !p.Own[normalizeHost(origin)] {
		p.frames = append(p.frames, origin)
		return link
	}
	return ""
}

// AllowWidget allows the script of a verifier's widget, and the sources that it loads from.
func (p *Policy) AllowWidget(script string, sources []string) {
	p.scripts = append(p.scripts, sources...)
	if origin := Origin(script); origin != "" {
		p.scripts = append(p.scripts, origin)
	}
	p.frames = append(p.frames, sources...)
	p.connects = append(p.connects, sources...)
	p.styles = append(p.styles, sources...)
}

// maxURL is how many bytes an address may have: servers and browsers take no longer ones.
const maxURL = 8 << 10

// Origin returns the origin of an absolute http or https URL as a source of a policy,
// and "" for everything else. A URL with a user name also gives "", because the name
// can make a foreign host look like a known one.
func Origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || len(raw) > maxURL || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
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

// Link returns an address that is fit for a link: http, https, or one of the other
// schemes. "" for everything else.
func Link(raw string, schemes ...string) template.URL {
	scheme, _, ok := strings.Cut(raw, ":")
	if Origin(raw) != "" || ok && len(raw) <= maxURL && slices.Contains(schemes, strings.ToLower(scheme)) {
		return template.URL(raw) //nolint:gosec // http, https or one of the schemes
	}
	return ""
}

// Picture is an image as a page shows it.
type Picture struct {
	URL           template.URL
	Alt           string
	Width, Height int
}

// maxInlineImage is how large an image may be that stands in the definition itself.
const maxInlineImage = 256 << 10

// AllowPicture allows an image and returns it, nil when it cannot be shown.
func (p *Policy) AllowPicture(image *schema.Image) *Picture {
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
	if text == "" || len(text) > maxInlineImage || err != nil {
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

// AllowVideo allows a file, for the browser's player, or a film of the two great platforms in a
// frame, and returns the address of either. Others are a link.
func (p *Policy) AllowVideo(link string) (frame, file string) {
	u, err := url.Parse(link)
	if Link(link) == "" || err != nil {
		return "", ""
	}
	first, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	switch host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www."); {
	case host == "youtu.be":
		return p.allowYouTube(first), ""
	case host == "youtube.com" || host == "m.youtube.com" || host == "youtube-nocookie.com":
		switch first {
		case "watch":
			return p.allowYouTube(u.Query().Get("v")), ""
		case "shorts", "embed", "live":
			return p.allowYouTube(rest), ""
		}
	case host == "vimeo.com":
		if IsSafeName(first) && strings.Trim(first, "0123456789") == "" {
			return p.AllowFrame("https://player.vimeo.com/video/" + first + "?dnt=1"), ""
		}
	case slices.Contains([]string{".mp4", ".webm", ".ogv", ".m4v", ".mov"}, strings.ToLower(path.Ext(u.Path))):
		p.media = append(p.media, Origin(link))
		return "", link
	}
	return "", ""
}

func (p *Policy) allowYouTube(id string) string {
	if !IsSafeName(id) {
		return ""
	}
	return p.AllowFrame("https://www.youtube-nocookie.com/embed/" + id)
}

// IsSafeName reports whether an id has only letters, digits, "-" and "_".
func IsSafeName(text string) bool {
	return text != "" && len(text) <= 64 && SafeName(text) == text
}

// SafeName leaves of a text only letters, digits, "-" and "_", and signs that are named: it means nothing but
// itself in a style sheet, in an address and in a file's name.
func SafeName(text string, more ...rune) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || slices.Contains(more, c) {
			return c
		}
		return -1
	}, text)
}
