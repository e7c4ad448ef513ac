// Package host has what a host gives to its pages, and says what forms lack without it.
package host

import (
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/schema"
)

// Host is what a host gives, as far as pages show it.
type Host struct {
	Files    bool           // there is a place for files
	Payments bool           // the host may answer payments
	Limited  bool           // the requests of an address are limited
	Location *time.Location // whose days the bounds of dates are shown in

	MaxFile     int64 // bytes of one file
	ServiceFile int64 // how large a file the service takes, 0: it does not say
	MaxVisit    int64 // bytes of all files of a visit

	// Captcha returns what checks the captchas of a type, nil for nothing.
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

// CannotGive reports whether a block is required and nobody can answer it: a file without a
// place for it, a payment that no host knows of.
func (h *Host) CannotGive(b *schema.Block) bool {
	return b.Required && (formblock.TakesFile(b) && !h.Files || b.Type == schema.TypePayment && !h.Payments)
}

// InVain reports whether a form with these blocks on the path cannot be sent.
func (h *Host) InVain(blocks []schema.Block) bool {
	for b, hidden := range formblock.Walk(blocks) {
		if !hidden && h.CannotGive(b) {
			return true
		}
	}
	return false
}

// FileSize is how many bytes a file of a block may have.
func (h *Host) FileSize(p *schema.Properties) int64 {
	if p.MaxFileSize && h.ServiceFile > 0 {
		return min(h.MaxFile, h.ServiceFile)
	}
	return h.MaxFile
}
