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

// Policy collects the sources that a page may load: its files, the author's media and embeds, and the host's verifier.
type Policy struct {
	Own Hosts // The hosts that frames must not show.

	images, frames, media, scripts, connects, styles []string
}

// CSPHeader returns a page's Content-Security-Policy. Only pages on an origin in ancestors can show it in a frame.
func (p *Policy) CSPHeader(nonce string, ancestors []string) string {
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

// CanvasCSP returns the policy for a canvas, which runs no scripts and submits nothing. It allows images from any
// host, because the editor adds images. Pages on its own origin or on an origin in ancestors can show it in a frame.
func CanvasCSP(nonce string, ancestors []string) string {
	return "default-src 'none'; base-uri 'none'; object-src 'none'; script-src 'none'; form-action 'none'; frame-ancestors " +
		strings.Join(append([]string{"'self'"}, ancestors...), " ") + "; " +
		"style-src 'nonce-" + nonce + "'; img-src 'self' data: http: https:; media-src http: https:"
}

// AllowFrame allows a URL in a frame and returns it. It returns "" for the site's own pages, because they would receive
// the respondent's cookies.
func (p *Policy) AllowFrame(link string) string {
	if origin := ParseOrigin(link); origin != "" && !p.Own[normalizeHost(origin)] {
		p.frames = append(p.frames, origin)
		return link
	}
	return ""
}

// AllowWidget allows a verifier widget's script and the sources that the script loads.
func (p *Policy) AllowWidget(script string, sources []string) {
	p.scripts = append(p.scripts, sources...)
	if origin := ParseOrigin(script); origin != "" {
		p.scripts = append(p.scripts, origin)
	}
	p.frames = append(p.frames, sources...)
	p.connects = append(p.connects, sources...)
	p.styles = append(p.styles, sources...)
}

// maxURL is the size limit for a URL, in bytes. Servers and browsers reject longer URLs.
const maxURL = 8 << 10

// ParseOrigin returns the origin of an absolute http or https URL as a policy source, or "" for other URLs. It rejects
// URLs with a username, which can make a foreign host look like a known one.
func ParseOrigin(raw string) string {
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
	// Allow only characters that occur in hosts, because others could end a source or a directive.
	if strings.ContainsFunc(u.Host, func(c rune) bool {
		return c <= ' ' || c > '~' || strings.ContainsRune(`;,'"*\<>`, c)
	}) {
		return ""
	}
	return u.Scheme + "://" + strings.ToLower(u.Host)
}

// SafeLink returns raw if its scheme is http, https or listed in schemes, and "" otherwise.
func SafeLink(raw string, schemes ...string) template.URL {
	scheme, _, ok := strings.Cut(raw, ":")
	if ParseOrigin(raw) != "" || ok && len(raw) <= maxURL && slices.Contains(schemes, strings.ToLower(scheme)) {
		return template.URL(raw) //nolint:gosec // http, https or a listed scheme
	}
	return ""
}

// Picture is an image on a page.
type Picture struct {
	URL           template.URL
	Alt           string
	Width, Height int
}

// maxInlineImage is the size limit for an image in the form definition, in bytes.
const maxInlineImage = 256 << 10

// AllowPicture allows an image and returns it, or nil if the page cannot show the image.
func (p *Policy) AllowPicture(image *schema.Image) *Picture {
	if image == nil {
		return nil
	}
	pic := new(Picture)
	if image.Width != nil && image.Height != nil && *image.Width > 0 && *image.Height > 0 {
		pic.Width, pic.Height = formblock.PositiveOrZero(image.Width), formblock.PositiveOrZero(image.Height)
	}
	if origin := ParseOrigin(image.URL); origin != "" {
		p.images = append(p.images, origin)
		pic.URL = template.URL(image.URL) //nolint:gosec
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
		pic.URL = template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(raw)) //nolint:gosec // a decoded image
		return pic
	}
	return nil
}

// AllowVideo allows a video file, or a YouTube or Vimeo video in a frame, and returns its URL. Both results are empty
// for any other video.
func (p *Policy) AllowVideo(link string) (frame, file string) {
	u, err := url.Parse(link)
	if SafeLink(link) == "" || err != nil {
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
		p.media = append(p.media, ParseOrigin(link))
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

// IsSafeName reports whether text is a short name that consists of letters, digits, "-" and "_".
func IsSafeName(text string) bool {
	return text != "" && len(text) <= 64 && KeepSafeChars(text) == text
}

// KeepSafeChars removes all characters except letters, digits, "-", "_" and more. The result has no special meaning in
// style sheets, URLs and file names.
func KeepSafeChars(text string, more ...rune) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || slices.Contains(more, c) {
			return c
		}
		return -1
	}, text)
}
