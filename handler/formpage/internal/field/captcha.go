package field

import "github.com/formsvc/formsvc/schema"

// drawCaptcha shows the challenge of a block, or nothing when it is solved or the host
// has no verifier for it. A page never pretends: a captcha that nothing verifies is not
// shown.
func (b *builder) drawCaptcha(f *Field, block *schema.Block) {
	f.write = nil
	w := b.Host.Widget(block)
	if w == nil || b.Solved(block.ID) {
		return
	}
	f.write, f.Widget = (*writer).captcha, w
	if f.Label == "" {
		f.Label = b.Words.Get("captcha.label")
	}
}

func (p *writer) captcha(f *Field) {
	p.Put(`<div class="q`)
	p.When(f.Fault != "", " bad")
	p.Put(`" id="%i" data-b="%i" tabindex="-1"><p class="fs-label">%s</p>`, f.ID, f.Block, f.Label)
	p.about(f)
	p.Put(`<div class="%i" data-sitekey="%i"></div><noscript>%s</noscript><script src="%i" async defer></script></div>`+"\n",
		f.Widget.Class, f.Widget.SiteKey, p.words.Get("captcha.noscript"), f.Widget.Script)
}
