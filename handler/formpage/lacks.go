package formpage

import (
	"context"
	"strconv"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/schema"
)

// Lacks says what a form asks for and the Config does not give: a verifier for a captcha,
// a place for files, an answer to a payment that is required: respondents see such a form
// without them. And a limiter, where files or captchas cost the host something. A host asks
// when it starts, for each of its forms, or when one is published. The handler logs the same
// when a form's page is first asked for, with the form's id, and a preview shows what
// respondents are without.
func (h *Handler) Lacks(form formsvc.PublicForm) []string {
	var list []string
	for _, l := range h.lacks(form.Blocks) {
		list = append(list, l.text)
	}
	return list
}

// cannotGive reports whether a block is required and nobody can answer it: a file without a
// place for it, a payment that no host knows of.
func (h *Handler) cannotGive(b *schema.Block) bool {
	return b.Required && (formblock.TakesFile(b) && h.config.Files == nil || b.Type == schema.TypePayment && h.config.HostAnswers == nil)
}

// inVain reports whether a form with these blocks on the path cannot be sent.
func (h *Handler) inVain(blocks []schema.Block) bool {
	for b, hidden := range formblock.Walk(blocks) {
		if !hidden && h.cannotGive(b) {
			return true
		}
	}
	return false
}

type lack struct {
	text  string
	quiet bool // the preview says it in the author's words, or not at all
}

func (h *Handler) lacks(blocks []schema.Block) []lack {
	var list []lack
	for b, hidden := range formblock.Walk(blocks) {
		if hidden {
			continue
		}
		p, block := formblock.Properties(b), "block "+strconv.Quote(b.ID)
		switch b.Type {
		case schema.TypeCaptcha:
			switch {
			case p.CaptchaType == "none":
			case h.verifier(b) == nil:
				list = append(list, lack{block + " is a captcha that nothing checks: Config.Verifiers has none of the type " + strconv.Quote(p.CaptchaType), true})
			case h.limiter == nil:
				list = append(list, lack{block + " is a captcha: there is no Config.Limiter, so one address may have any number of tokens checked", true})
			}
		case schema.TypeFileUpload, schema.TypeSignature:
			switch {
			case h.cannotGive(b):
				list = append(list, lack{text: block + " requires a file: there is no Config.Files, so no response can be stored"})
			case h.config.Files == nil:
				list = append(list, lack{text: block + " asks for files: there is no Config.Files"})
			case h.limiter == nil:
				list = append(list, lack{block + " takes files: there is no Config.Limiter, so one address may send any number of them", true})
			}
		case schema.TypePayment:
			if h.cannotGive(b) {
				list = append(list, lack{text: block + " requires a payment: there is no Config.HostAnswers, so no response can be stored"})
			}
		}
	}
	return list
}

// warnLacks logs what a form lacks, each thing once as long as it is remembered.
func (h *Handler) warnLacks(ctx context.Context, form *formsvc.PublicForm) {
	for _, l := range h.lacks(form.Blocks) {
		key := form.ID.String() + l.text
		if _, logged := h.warned.Put(key, struct{}{}, len(key)); !logged {
			h.logger.WarnContext(ctx, "a form asks for what formpage.Config does not give", "form", form.ID, "lacks", l.text)
		}
	}
}
