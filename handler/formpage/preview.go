package formpage

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/pagestate"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/render"
	"github.com/formsvc/formsvc/handler/formpage/internal/static"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// ErrNoSecret is the error that the methods for signed links return if [Config.Secret] is nil.
var ErrNoSecret = errors.New("formpage: signed links need Config.Secret")

// PreviewPath returns the path of a page that shows the stored form, draft or published, until the given time. The path
// is escaped and starts with Config.BasePath. The caller must prepend its origin and any prefix that StripPrefix
// removes. The page accepts the same query parameters as the form's page, such as lang.
//
// Anyone who has the link can see the form until the given time, or until the form is moved to the trash or the Secret
// changes. The caller must check that the form exists and that its user may see it. Submitting the preview checks the
// answers and stores nothing. It does not show errors that only the storage can detect, such as a duplicate.
//
// PreviewPath returns [ErrNoSecret] if Config.Secret is nil, and another error if until is not in the future.
func (h *Handler) PreviewPath(form storage.ID, until time.Time) (string, error) {
	end, err := h.linkEnd(until)
	if err != nil {
		return "", err
	}
	token := h.signer.Sign(pagestate.PurposePreview, previewLink{Form: form.String(), Until: end})
	return h.base + "/" + static.Dir + "/" + previewDir + token, nil
}

// linkEnd checks the end of a signed link and returns it in Unix milliseconds.
func (h *Handler) linkEnd(until time.Time) (int64, error) {
	if !h.hasSecret() {
		return 0, ErrNoSecret
	}
	if !until.After(h.config.Clock()) {
		return 0, fmt.Errorf("formpage: the link's end %s is in the past", until.Format(time.RFC3339))
	}
	return until.UnixMilli() + 1, nil // so that truncation does not shorten the link's validity
}

// Path returns the path of a form's page, given its public ID. The path is escaped and starts with Config.BasePath. The
// caller must prepend its origin and any prefix that StripPrefix removes.
func (h *Handler) Path(publicID string) string {
	return h.base + "/" + url.PathEscape(publicID)
}

type previewLink struct {
	Form  string `json:"f"`
	Until int64  `json:"u"` // when the preview expires, in Unix milliseconds
}

func (h *Handler) hasSecret() bool {
	h.warnIfNoSecret()
	return h.config.Secret != nil
}

func (h *Handler) servePreview(w http.ResponseWriter, r *http.Request, rest string) {
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	if h.rejectFraming(w, r) {
		return
	}
	token, rest, _ := strings.Cut(rest, "/")
	form, warnings, err := h.openPreview(r, token)
	methods := map[string]string{"": pageMethods, "done": readMethods}[rest]
	if err == nil && methods == "" {
		err = storage.ErrNotFound
	}
	switch {
	case err != nil:
		h.showReadError(w, r, false, err)
		return
	case h.handleMethod(w, r, methods, false):
		return
	}
	c := h.newCall(w, r, form)
	c.link, c.Preview = previewDir+token, &render.Preview{Text: "preview.text", Notes: c.previewNotes(), Warnings: c.previewWarnings(warnings)}
	c.Form.Closed = false // the author sees the form, with a note that it is closed
	if rest == "done" {
		c.Preview.Text = "preview.sent"
		c.showEnding(c.visibleEnding(r.URL.Query().Get(input.Ending)), "", false)
		return
	}
	c.servePage()
}

func (h *Handler) openPreview(r *http.Request, token string) (formsvc.PublicForm, schema.Warnings, error) {
	var link previewLink
	if !h.hasSecret() || !h.signer.OpenToken(pagestate.PurposePreview, token, &link) || h.config.Clock().UnixMilli() >= link.Until {
		return formsvc.PublicForm{}, nil, storage.ErrNotFound
	}
	id, _ := storage.ParseID(link.Form) // the ID is signed, so it is valid
	return h.service.PreviewForm(r.Context(), id)
}

func (c *call) previewNotes() []string {
	var notes []string
	switch {
	case !c.Form.OpensAt.IsZero():
		notes = append(notes, c.openingText("preview.opens"))
	case c.Form.Closed:
		notes = append(notes, c.Words.Get("preview.closed"))
	}
	if u := policy.SafeLink(c.Form.Settings.RedirectURL); u != "" {
		notes = append(notes, c.Words.Get("preview.redirect", "url", string(u)))
	}
	for b, hidden := range formblock.Walk(c.Form.Blocks) { // captchas without a verifier
		kind := formblock.Properties(b).CaptchaType
		if b.Type == schema.TypeCaptcha && !hidden && kind != "none" && c.Host.CaptchaWidget(b) == nil {
			notes = append(notes, c.Words.Get("preview.captcha", "type", cmp.Or(kind, "–")))
		}
	}
	return notes
}

// previewWarnings returns the form's warnings with their blocks' labels, and its missing features. It omits captchas,
// which already have a note, and features that do not affect respondents.
func (c *call) previewWarnings(warnings schema.Warnings) []render.Warning {
	var list []render.Warning
	for _, w := range warnings {
		shown := render.Warning{Path: w.Path, Message: w.Message}
		if rest, ok := strings.CutPrefix(w.Path, "/blocks/"); ok {
			index, _, _ := strings.Cut(rest, "/")
			if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(c.Form.Blocks) {
				shown.Label = c.Form.Blocks[i].PlainLabel()
			}
		}
		list = append(list, shown)
	}
	for _, l := range c.h.host.MissingFeatures(c.Form.Blocks, &c.Form.Settings) {
		if !l.HiddenInPreview {
			list = append(list, render.Warning{Message: l.Text})
		}
	}
	return list
}
