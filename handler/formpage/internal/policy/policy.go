// Package policy says what a page may load and lead to.
package policy

import (
	"slices"
	"strings"
)

// Policy collects what a page may load: its own files, and exactly the hosts of the
// author's media, of embeds and of the host's verifier.
type Policy struct{ images, frames, media, scripts, connects, styles []string }

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

// Frame allows an address in a frame and returns it.
func (p *Policy) Frame(link string) string {
	if origin := Origin(link); origin != "" {
		p.frames = append(p.frames, origin)
		return link
	}
	return ""
}

// Widget allows the script of a verifier's widget, and the sources that it loads from.
func (p *Policy) Widget(script string, sources []string) {
	p.scripts = append(p.scripts, sources...)
	if origin := Origin(script); origin != "" {
		p.scripts = append(p.scripts, origin)
	}
	p.frames = append(p.frames, sources...)
	p.connects = append(p.connects, sources...)
	p.styles = append(p.styles, sources...)
}
