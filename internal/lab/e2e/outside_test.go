package e2e

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// The browser of these tests reaches this machine and nobody else, whatever a page asks
// it for: no name and no address is resolved.
func TestTheBrowserReachesNobodyElse(t *testing.T) {
	b := newTab(t, 800, 600)
	for _, url := range []string{"http://img.example/", "http://192.0.2.1/"} {
		noError(t, chromedp.Do(b.ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			r, err := cdp.Call(ctx, target, page.Navigate, page.NavigateParams{URL: url})
			if err == nil && !strings.Contains(r.ErrorText, "ERR_NAME_NOT_RESOLVED") {
				t.Errorf("%s: %q", url, r.ErrorText)
			}
			return err
		})))
	}
}
