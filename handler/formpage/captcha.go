package formpage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Verifier asks a CAPTCHA service whether a respondent solved its challenge. It must be safe for concurrent use.
// [Turnstile], [HCaptcha] and [ReCAPTCHA] return implementations.
type Verifier interface {
	// Widget describes the CAPTCHA to show on the page.
	Widget() Widget
	// Verify reports whether a token from the widget is valid. An error means that the service is unavailable. Nothing
	// is then stored, and the page is shown again. address is the result of [Config.ClientIP], or "" if that is nil.
	Verify(ctx context.Context, token, address string) (bool, error)
}

// Widget describes how a page includes a CAPTCHA service's challenge.
type Widget struct {
	Script  string // https URL of the script
	Class   string // CSS class for the script's element
	SiteKey string // value of the element's data-sitekey attribute
	Input   string // name of the input that the script adds to hold the token
	// Sources are the sources that the Content-Security-Policy must allow for scripts, frames, connections and styles.
	Sources []string
}

// CaptchaKeys are a site's keys at a CAPTCHA service. Logs, JSON and package fmt omit the Secret.
type CaptchaKeys struct {
	SiteKey string // public
	Secret  string
	// Endpoint is the URL that verifies tokens. Defaults to the service's URL. Set it for tests and proxies.
	Endpoint string
	// Client sends the requests. Defaults to a client with a 5 s timeout.
	Client *http.Client
}

// Turnstile returns a verifier for Cloudflare Turnstile, for the captchaType turnstile.
func Turnstile(keys CaptchaKeys) Verifier {
	return newSiteVerifier(keys, "https://challenges.cloudflare.com/turnstile/v0/siteverify", Widget{
		Script: "https://challenges.cloudflare.com/turnstile/v0/api.js", Class: "cf-turnstile", Input: "cf-turnstile-response",
		Sources: []string{"https://challenges.cloudflare.com"},
	})
}

// HCaptcha returns a verifier for hCaptcha, for the captchaType hcaptcha.
func HCaptcha(keys CaptchaKeys) Verifier {
	return newSiteVerifier(keys, "https://api.hcaptcha.com/siteverify", Widget{
		Script: "https://js.hcaptcha.com/1/api.js", Class: "h-captcha", Input: "h-captcha-response",
		Sources: []string{"https://hcaptcha.com", "https://*.hcaptcha.com"},
	})
}

// ReCAPTCHA returns a verifier for reCAPTCHA v2, for the captchaType recaptcha.
func ReCAPTCHA(keys CaptchaKeys) Verifier {
	return newSiteVerifier(keys, "https://www.google.com/recaptcha/api/siteverify", Widget{
		Script: "https://www.google.com/recaptcha/api.js", Class: "g-recaptcha", Input: "g-recaptcha-response",
		Sources: []string{"https://www.google.com/recaptcha/", "https://www.gstatic.com/recaptcha/", "https://recaptcha.google.com/recaptcha/"},
	})
}

// siteVerifier implements the protocol that all three services use: a POST that returns JSON with a success field.
type siteVerifier struct {
	keys   CaptchaKeys
	widget Widget
}

func newSiteVerifier(keys CaptchaKeys, endpoint string, w Widget) Verifier {
	w.SiteKey = keys.SiteKey
	keys.Endpoint = cmp.Or(keys.Endpoint, endpoint)
	keys.Client = cmp.Or(keys.Client, &http.Client{Timeout: 5 * time.Second})
	return siteVerifier{keys, w}
}

func (v siteVerifier) Widget() Widget { return v.widget }

func (v siteVerifier) Verify(ctx context.Context, token, address string) (bool, error) {
	form := url.Values{"secret": {v.keys.Secret}, "response": {token}, "sitekey": {v.keys.SiteKey}}
	if address != "" {
		form.Set("remoteip", address)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, v.keys.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := v.keys.Client.Do(r)
	if err != nil {
		return false, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusInternalServerError {
		return false, fmt.Errorf("the captcha service returned status %d", response.StatusCode)
	}
	var answer struct {
		Success bool     `json:"success"`
		Errors  []string `json:"error-codes"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&answer); err != nil {
		return false, err
	}
	for _, code := range answer.Errors {
		// The host caused these errors, not the respondent.
		if strings.HasSuffix(code, "-secret") || strings.Contains(code, "sitekey") {
			return false, errors.New("the captcha service rejected the keys: " + code)
		}
	}
	return answer.Success, nil
}

// Format implements [fmt.Formatter]. It omits the Secret.
func (k CaptchaKeys) Format(f fmt.State, _ rune) { writeRedacted(f, k.redactedText()) }

// MarshalText implements [encoding.TextMarshaler]. It returns the same text as Format.
func (k CaptchaKeys) MarshalText() ([]byte, error) { return []byte(k.redactedText()), nil }

func (k CaptchaKeys) redactedText() string { return "{" + k.SiteKey + " " + redacted + "}" }

func (v siteVerifier) Format(f fmt.State, _ rune) { writeRedacted(f, v.keys.redactedText()) }
