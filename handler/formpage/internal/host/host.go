// Package host describes the features that a host provides for its form pages, such as file storage. It also finds
// features that a form needs but the host does not provide.
package host

import (
	"strconv"
	"time"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/schema"
)

// Host describes a host's features and limits.
type Host struct {
	Files       bool           // Whether files can be stored.
	Payments    bool           // Whether the host can answer payment blocks.
	Respondents bool           // Whether the host can say who is answering.
	HasLimiter  bool           // Whether requests are limited by IP address.
	Partials    bool           // Whether partial submissions are saved.
	Location    *time.Location // The time zone for date limits.

	MaxFile     int64 // The size limit for a file, in bytes.
	ServiceFile int64 // The service's own size limit for a file. Zero means no limit.
	MaxVisit    int64 // The total size limit for a visit's files.

	// Captcha returns the widget for a captcha type, or nil if there is no verifier for it.
	Captcha func(kind string) *Widget
}

// Widget describes how a page includes a CAPTCHA service's challenge.
type Widget struct {
	Script  string
	Class   string
	SiteKey string
	Input   string
	Sources []string
}

// CaptchaWidget returns the widget for a captcha block, or nil if there is no verifier for it.
func (h *Host) CaptchaWidget(b *schema.Block) *Widget {
	p := formblock.Properties(b)
	if b.Type != schema.TypeCaptcha || p.Hide {
		return nil
	}
	return h.Captcha(p.CaptchaType)
}

// CannotAnswer reports whether a block is required but cannot be answered, because it is a file block and there is no
// file storage, or a payment block that the host does not support.
func (h *Host) CannotAnswer(b *schema.Block) bool {
	return b.Required && (formblock.TakesFile(b) && !h.Files || b.Type == schema.TypePayment && !h.Payments)
}

// CannotSubmit reports whether a required block cannot be answered.
func (h *Host) CannotSubmit(blocks []schema.Block) bool {
	for b, hidden := range formblock.Walk(blocks) {
		if !hidden && h.CannotAnswer(b) {
			return true
		}
	}
	return false
}

// MaxFileBytes returns a block's size limit per file, in bytes.
func (h *Host) MaxFileBytes(p *schema.Properties) int64 {
	if p.MaxFileSize && h.ServiceFile > 0 {
		return min(h.MaxFile, h.ServiceFile)
	}
	return h.MaxFile
}

// MissingFeature describes a feature that a form needs but the host does not provide.
type MissingFeature struct {
	Text            string
	HiddenInPreview bool // Whether previews omit it, because a note explains it or respondents do not notice it.
}

// MissingFeatures returns the features that a form needs but the host does not provide.
func (h *Host) MissingFeatures(blocks []schema.Block, settings *schema.Settings) []MissingFeature {
	var list []MissingFeature
	if h.Partials && !h.HasLimiter {
		list = append(list, MissingFeature{"partial submissions are saved but Config.Limiter is not set, so one address can save any number of them", true})
	}
	if settings.OnePerRespondent && !settings.Anonymous && !h.Respondents {
		list = append(list, MissingFeature{"settings.onePerRespondent requires a respondent but Config.Respondent is not set, so no response can be stored", false})
	}
	if settings.Editable && !settings.Anonymous && !h.Respondents {
		list = append(list, MissingFeature{"settings.editable has no effect because Config.Respondent is not set", false})
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
		case h.CannotAnswer(b): // Only a required payment block can reach this case.
			lack(false, " requires a payment but Config.HostAnswers is not set, so no response can be stored")
		}
	}
	return list
}
