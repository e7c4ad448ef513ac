// Package host contains the parts that a host provides for its form pages, such as file storage. It also
// finds the parts that a form needs but the host does not provide.
package host

import (
	"strconv"
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/schema"
)

// Host has the parts of the host that pages show.
type Host struct {
	Files      bool           // there is a place for files
	Payments   bool           // the host may answer payments
	HasLimiter bool           // the requests of an address are limited
	Partials   bool           // half responses are saved
	Location   *time.Location // the zone of the days by which bounds of dates are shown

	MaxFile     int64 // bytes of one file
	ServiceFile int64 // how large a file the service takes, 0: it does not say
	MaxVisit    int64 // bytes of all files of a visit

	// Captcha returns the verifier for the captchas of a type, nil when there is none.
	Captcha func(kind string) *Widget
}

// Widget is how a captcha service's challenge gets into the page.
type Widget struct {
	Script  string
	Class   string
	SiteKey string
	Input   string
	Sources []string
}

// Widget returns the challenge of a captcha block, nil when the host gave none.
func (h *Host) Widget(b *schema.Block) *Widget {
	p := formblock.Properties(b)
	if b.Type != schema.TypeCaptcha || p.Hide {
		return nil
	}
	return h.Captcha(p.CaptchaType)
}

// CannotAnswer reports whether a block is required and nobody can answer it: a file without a
// place for it, a payment that no host knows of.
func (h *Host) CannotAnswer(b *schema.Block) bool {
	return b.Required && (formblock.TakesFile(b) && !h.Files || b.Type == schema.TypePayment && !h.Payments)
}

// CannotSubmit reports whether a form with these blocks on the path cannot be sent.
func (h *Host) CannotSubmit(blocks []schema.Block) bool {
	for b, hidden := range formblock.Walk(blocks) {
		if !hidden && h.CannotAnswer(b) {
			return true
		}
	}
	return false
}

// MaxBlockFile is how many bytes a file of a block may have.
func (h *Host) MaxBlockFile(p *schema.Properties) int64 {
	if p.MaxFileSize && h.ServiceFile > 0 {
		return min(h.MaxFile, h.ServiceFile)
	}
	return h.MaxFile
}

// MissingFeature is a part that a form asks for and the host does not give.
type MissingFeature struct {
	Text            string
	HiddenInPreview bool // the preview says it in the author's words, or not at all
}

// MissingFeatures returns the features that a form with these blocks needs and the host does not provide.
func (h *Host) MissingFeatures(blocks []schema.Block) []MissingFeature {
	var list []MissingFeature
	if h.Partials && !h.HasLimiter {
		list = append(list, MissingFeature{"partial submissions are saved but Config.Limiter is not set, so one address can save any number of them", true})
	}
	for b, hidden := range formblock.Walk(blocks) {
		if hidden {
			continue
		}
		lack := func(quiet bool, text string) {
			list = append(list, MissingFeature{"block " + strconv.Quote(b.ID) + text, quiet})
		}
		kind, file := formblock.Properties(b).CaptchaType, formblock.TakesFile(b)
		captcha := b.Type == schema.TypeCaptcha && kind != "none"
		switch {
		case captcha && h.Captcha(kind) == nil:
			lack(true, " is a captcha without verification: Config.Verifiers has no verifier for the type "+strconv.Quote(kind))
		case captcha && !h.HasLimiter:
			lack(true, " is a captcha but Config.Limiter is not set, so one address can check any number of tokens")
		case file && h.CannotAnswer(b):
			lack(false, " requires a file but Config.Files is not set, so no response can be stored")
		case file && !h.Files:
			lack(false, " asks for files but Config.Files is not set")
		case file && !h.HasLimiter:
			lack(true, " accepts files but Config.Limiter is not set, so one address can send any number of them")
		case h.CannotAnswer(b): // as nobody has paid
			lack(false, " requires a payment but Config.HostAnswers is not set, so no response can be stored")
		}
	}
	return list
}
