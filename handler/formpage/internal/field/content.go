package field

// This file renders blocks that have no answer.

import (
	"cmp"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/schema"
)

func (p *writer) writeDivider(f *Field) { p.Put(`<hr class="fs-divider" data-b="%i">`+"\n", f.Block) }

func (p *writer) writeGroup(f *Field) {
	p.Put(`<fieldset class="q group%i" id="%i" data-b="%i"`, f.Classes, f.ID, f.Block)
	p.PutIf(f.Error != "", ` aria-describedby="%i-e" tabindex="-1"`, f.ID)
	p.Put(">")
	p.PutIf(f.HasLabel, "<legend>%t</legend>", f.Label, f.HTML.Label)
	p.writeDescription(f)
	p.PutIf(f.Error != "", `<p class="fs-fault" id="%i-e">%t</p>`, f.ID, f.Error, f.HTML.Error)
	p.writePicture(f.Image)
	p.Put("\n")
}

// writeDescription writes a description that no control refers to.
func (p *writer) writeDescription(f *Field) {
	p.PutIf(f.HasDescription, `<p class="fs-desc">%t</p>`, f.Description, f.HTML.Description)
}

func (p *writer) writeContent(f *Field) {
	p.Put(`<div class="c c-%i`, f.Kind)
	p.PutIf(f.ImageAlign != "", " pic-%i", f.ImageAlign)
	p.PutIf(f.Kind == "screen", " fs-screen")
	p.Put(`" id="%i" data-b="%i">`, f.ID, f.Block)
	switch f.ImageAlign {
	case "cover", "split_left", "split_right", "float_left", "float_right":
		p.writePicture(f.Image)
	}
	p.Put("\n")
	switch {
	case !f.HasLabel:
	case f.Kind == "statement" && f.Properties.QuotationMarks:
		p.Put("<blockquote><p>%t</p></blockquote>", f.Label, f.HTML.Label)
	case f.Kind == "prose":
		p.Put(`<p class="fs-text">%t</p>`, f.Label, f.HTML.Label)
	default:
		p.Put("<h2>%t</h2>", f.Label, f.HTML.Label)
	}
	p.Put("\n")
	p.writeDescription(f)
	p.Put("\n")
	if f.ImageAlign == "inline" {
		p.writePicture(f.Image)
	}
	switch link := string(f.Link); {
	case f.Video != "":
		p.Put(`<video class="fs-video" src="%i" controls preload="metadata"></video>`, f.Video)
	case f.Frame != "":
		p.Put(`<div class="fs-embed" data-frame="%i"><a class="fs-button quiet" href="%i" target="_blank" rel="noopener">`, f.Frame, link)
		p.PutIf(f.Kind == "video", `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M8 5v14l11-7z"/></svg>`)
		p.writeLinkText(f)
		p.Put(`<span class="vh nt"> %s</span></a></div>`, p.words.Get("new_tab"))
	case link != "" && f.Kind != "screen":
		p.Put(`<a class="fs-button quiet" href="%i" target="_blank" rel="noopener">`, link)
		p.writeLinkText(f)
		p.Put(`<span class="vh"> %s</span></a>`, p.words.Get("new_tab"))
	}
	p.Put("</div>\n\n")
}

func (b *builder) writeEnding(f *Field) {
	p := b.out
	if strings.TrimSpace(f.Label) == "" {
		f.Label, f.HTML.Label = p.words.Get("done.title"), ""
		if f.Description == "" {
			f.Description, f.HasDescription = p.words.Get("done.text"), true
		}
	}
	p.writePicture(f.Image)
	p.PutIf(f.Image == nil, `<svg class="fs-tick" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 12.5l5.5 5.5L20 7"/></svg>`)
	p.Put("<h1>%t</h1>", f.Label, f.HTML.Label)
	p.writeDescription(f)
	if f.Link != "" {
		p.Put(`<p class="fs-actions"><a class="fs-button"`)
		p.PutIf(b.Top, ` target="_top"`)
		p.Put(` href="%i">%s</a></p>`, string(f.Link), cmp.Or(b.Plain(f.Properties.ButtonText, schema.Insertions), f.Label))
	}
}

func (p *writer) writeLinkText(f *Field) {
	switch {
	case f.Kind == "embed":
		p.PutSentence(p.words.Get("embed.show"), "host", strings.TrimPrefix(strings.TrimPrefix(policy.ParseOrigin(string(f.Link)), "https://"), "http://"))
	case f.Frame != "":
		p.Put("%s", p.words.Get("video.play"))
	default:
		p.Put("%s", p.words.Get(f.Kind+".open"))
	}
}

// addCaptcha shows a captcha unless it is already solved, or has no verifier to check the solution.
func (b *builder) addCaptcha(f *Field, block *schema.Block) {
	f.write = nil
	w := b.Host.CaptchaWidget(block)
	if w == nil || b.Solved(block.ID) {
		return
	}
	f.write, f.Widget = (*writer).writeCaptcha, w
	if f.Label == "" {
		f.Label = b.Words.Get("captcha.label")
	}
}

func (p *writer) writeCaptcha(f *Field) {
	p.Put(`<div class="q`)
	p.PutIf(f.Error != "", " bad")
	p.Put(`" id="%i" data-b="%i" tabindex="-1"><p class="fs-label">%t</p>`, f.ID, f.Block, f.Label, f.HTML.Label)
	p.writeHelp(f)
	p.Put(`<div class="%i" data-sitekey="%i"></div><noscript>%s</noscript><script src="%i" async defer></script></div>`+"\n",
		f.Widget.Class, f.Widget.SiteKey, p.words.Get("captcha.noscript"), f.Widget.Script)
}
