package host

import (
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/schema"
)

// Lack is what a form asks for and the host does not give.
type Lack struct {
	Text  string
	Quiet bool // the preview says it in the author's words, or not at all
}

// Lacks says what a form with these blocks lacks.
func (h *Host) Lacks(blocks []schema.Block) []Lack {
	var list []Lack
	for b, hidden := range formblock.Walk(blocks) {
		if hidden {
			continue
		}
		p, block := formblock.Properties(b), "block "+strconv.Quote(b.ID)
		switch {
		case b.Type == schema.TypeCaptcha:
			switch {
			case p.CaptchaType == "none":
			case h.Captcha(p.CaptchaType) == nil:
				list = append(list, Lack{block + " is a captcha that nothing checks: Config.Verifiers has none of the type " + strconv.Quote(p.CaptchaType), true})
			case !h.Limited:
				list = append(list, Lack{block + " is a captcha: there is no Config.Limiter, so one address may have any number of tokens checked", true})
			}
		case formblock.TakesFile(b):
			switch {
			case h.CannotGive(b):
				list = append(list, Lack{Text: block + " requires a file: there is no Config.Files, so no response can be stored"})
			case !h.Files:
				list = append(list, Lack{Text: block + " asks for files: there is no Config.Files"})
			case !h.Limited:
				list = append(list, Lack{block + " takes files: there is no Config.Limiter, so one address may send any number of them", true})
			}
		case h.CannotGive(b): // as nobody has paid
			list = append(list, Lack{Text: block + " requires a payment: there is no Config.HostAnswers, so no response can be stored"})
		}
	}
	return list
}
