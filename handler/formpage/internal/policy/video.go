package policy

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/plain"
)

// Video allows a file, for the browser's player, or a film of the two great platforms in a
// frame, and returns the address of either. Others are a link.
func (p *Policy) Video(link string) (frame, file string) {
	u, err := url.Parse(link)
	if Link(link) == "" || err != nil {
		return "", ""
	}
	first, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	switch host := strings.TrimPrefix(strings.ToLower(u.Hostname()), "www."); {
	case host == "youtu.be":
		return p.youtube(first), ""
	case host == "youtube.com" || host == "m.youtube.com" || host == "youtube-nocookie.com":
		switch first {
		case "watch":
			return p.youtube(u.Query().Get("v")), ""
		case "shorts", "embed", "live":
			return p.youtube(rest), ""
		}
	case host == "vimeo.com":
		if plain.IsName(first) && strings.Trim(first, "0123456789") == "" {
			return p.Frame("https://player.vimeo.com/video/" + first + "?dnt=1"), ""
		}
	case slices.Contains([]string{".mp4", ".webm", ".ogv", ".m4v", ".mov"}, strings.ToLower(path.Ext(u.Path))):
		p.media = append(p.media, Origin(link))
		return "", link
	}
	return "", ""
}

func (p *Policy) youtube(id string) string {
	if !plain.IsName(id) {
		return ""
	}
	return p.Frame("https://www.youtube-nocookie.com/embed/" + id)
}
