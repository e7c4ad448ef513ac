package formpage

import (
	"context"
	"slices"
	"strconv"

	"github.com/formsvc/formsvc/schema"
)

// Lacks says what a form asks for and the Config does not give: a verifier for a captcha,
// a place for files, an answer to a payment that is required, which respondents see the form
// without; and a limiter where files or captchas cost the host something. A host asks when it starts, for each of its forms, or when one is
// published. The handler logs the same when a form's page is first asked for, with the
// form's id, and a preview shows it.
func (h *Handler) Lacks(form PublicForm) []string {
	var list []string
	for _, l := range h.allLacks(form.Blocks) {
		list = append(list, l.text)
	}
	return list
}

// cannotGive reports whether a block is required and nobody can answer it: a file without a
// place for it, a payment that no host knows of.
func (h *Handler) cannotGive(b *schema.Block) bool {
	file := b.Type == schema.TypeFileUpload || b.Type == schema.TypeSignature
	return b.Required && (file && h.config.Files == nil || b.Type == schema.TypePayment && h.config.HostAnswers == nil)
}

// inVain reports whether a form with these blocks on the path cannot be sent.
func (h *Handler) inVain(blocks []schema.Block) bool {
	return slices.ContainsFunc(blocks, func(b schema.Block) bool {
		return !properties(&b).Hide && (h.cannotGive(&b) || h.inVain(b.Children))
	})
}

type lack struct {
	text    string
	captcha bool
}

// allLacks adds what the form lacks as a whole. The preview does not show it: respondents
// see no difference.
func (h *Handler) allLacks(blocks []schema.Block) []lack {
	list := h.lacks(blocks)
	if h.limiter == nil && h.costs(blocks) {
		list = append(list, lack{text: "the form takes files or has a captcha: there is no Config.Limiter, so one address may send without end"})
	}
	return list
}

// costs reports whether requests of visitors fill the host's place for files, or ask a
// captcha's service.
func (h *Handler) costs(blocks []schema.Block) bool {
	return slices.ContainsFunc(blocks, func(b schema.Block) bool {
		files := b.Type == schema.TypeFileUpload || b.Type == schema.TypeSignature
		return !properties(&b).Hide && (files && h.config.Files != nil || h.verifier(&b) != nil || h.costs(b.Children))
	})
}

func (h *Handler) lacks(blocks []schema.Block) []lack {
	var list []lack
	for i := range blocks {
		b := &blocks[i]
		p := properties(b)
		if p.Hide {
			continue
		}
		block := "block " + strconv.Quote(b.ID)
		switch b.Type {
		case schema.TypeCaptcha:
			if p.CaptchaType != "none" && h.verifier(b) == nil {
				list = append(list, lack{block + " is a captcha that nothing checks: Config.Verifiers has none of the type " + strconv.Quote(p.CaptchaType), true})
			}
		case schema.TypeFileUpload, schema.TypeSignature:
			switch {
			case h.cannotGive(b):
				list = append(list, lack{text: block + " requires a file: there is no Config.Files, so no response can be stored"})
			case h.config.Files == nil:
				list = append(list, lack{text: block + " asks for files: there is no Config.Files"})
			}
		case schema.TypePayment:
			if h.cannotGive(b) {
				list = append(list, lack{text: block + " requires a payment: there is no Config.HostAnswers, so no response can be stored"})
			}
		}
		list = append(list, h.lacks(b.Children)...)
	}
	return list
}

// warnLacks logs what a form lacks, each thing once as long as it is remembered.
func (h *Handler) warnLacks(ctx context.Context, form *PublicForm) {
	for _, l := range h.allLacks(form.Blocks) {
		key := form.ID.String() + l.text
		if h.warned.put(key, true, len(key)) {
			h.logger.WarnContext(ctx, "a form asks for what formpage.Config does not give", "form", form.ID, "lacks", l.text)
		}
	}
}
