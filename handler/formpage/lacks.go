package formpage

import (
	"context"

	"github.com/formsvc/formsvc"
)

// Lacks says what a form asks for and the Config does not give: a verifier for a captcha,
// a place for files, an answer to a payment that is required: respondents see such a form
// without them. And a limiter, where files or captchas cost the host something. A host asks
// when it starts, for each of its forms, or when one is published. The handler logs the same
// when a form's page is first asked for, with the form's id, and a preview shows what
// respondents are without.
func (h *Handler) Lacks(form formsvc.PublicForm) []string {
	var list []string
	for _, l := range h.host.Lacks(form.Blocks) {
		list = append(list, l.Text)
	}
	return list
}

// warnLacks logs what a form lacks, each thing once as long as it is remembered.
func (h *Handler) warnLacks(ctx context.Context, form *formsvc.PublicForm) {
	for _, l := range h.host.Lacks(form.Blocks) {
		key := form.ID.String() + l.Text
		if _, logged := h.warned.Put(key, struct{}{}, len(key)); !logged {
			h.logger.WarnContext(ctx, "a form asks for what formpage.Config does not give", "form", form.ID, "lacks", l.Text)
		}
	}
}
