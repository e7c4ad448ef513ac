package handler

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	"github.com/go-chi/chi/v5"
	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

func contextWith(r *http.Request, rctx *chi.Context) context.Context {
	return context.WithValue(r.Context(), chi.RouteCtxKey, rctx)
}

func TestIfMatch(t *testing.T) {
	for header, want := range map[string]core.Precondition{
		`*`:                             {Set: true, Any: true},
		` * `:                           {Set: true, Any: true},
		etag(7):                         {Set: true, Revisions: []int64{7}},
		etag(7) + `, "x"`:               {Set: true, Revisions: []int64{7}},
		`"a,b",` + etag(40):             {Set: true, Revisions: []int64{40}},
		`W/` + etag(7):                  {Set: true, Revisions: []int64{7}},
		`"r7-gzip"`:                     {Set: true, Revisions: []int64{7}},
		`"r7--gzip"`:                    {Set: true, Revisions: []int64{7}},
		`W/"r7;br"`:                     {Set: true, Revisions: []int64{7}},
		`"r7:zstd" , "r8+x-gzip"`:       {Set: true, Revisions: []int64{7, 8}},
		`"r7"-gzip`:                     {Set: true, Revisions: []int64{7}},
		`"r7-lost"`:                     {Set: true},
		`"r7gzip"`:                      {Set: true, Revisions: []int64{parsed("7gzip")}},
		`w/"r7"`:                        {Set: true},
		`r7`:                            {Set: true},
		`"r7`:                           {Set: true},
		`"r07"`:                         {Set: true}, // the same number, but not the tag that was given out
		`"r-1"`:                         {Set: true, Revisions: []int64{-1}},
		`*, ` + etag(7):                 {Set: true}, // malformed: the star stands alone
		`r7, ` + etag(7):                {Set: true},
		`W/` + etag(7) + `, ` + etag(8): {Set: true, Revisions: []int64{7, 8}},
		`"a b", ` + etag(7):             {Set: true},
		``:                              {Set: true},
		`,,,`:                           {Set: true},
		etag(1) + `,` + etag(2):         {Set: true, Revisions: []int64{1, 2}},
	} {
		c := &call{r: &http.Request{Header: http.Header{"If-Match": {header}}}}
		expect.Same(t, want, c.parseIfMatch(), "the condition %q", header)
	}
	c := &call{r: &http.Request{Header: http.Header{"If-Match": {etag(1), etag(2)}}}}
	got := c.parseIfMatch()
	expect.That(t, got.Holds(1) && got.Holds(2) && !got.Holds(3), "two headers: %+v", got)
	c = &call{r: &http.Request{}}
	got = c.parseIfMatch()
	expect.That(t, !got.Set && got.Holds(5) && got.OnlyRevisions() == nil, "no header: %+v", got)
}

func parsed(text string) int64 {
	n, _ := strconv.ParseInt(text, 36, 64)
	return n
}

func TestRevisionTokensReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		revision := rapid.Int64Min(1).Draw(t, "revision")
		c := &call{r: &http.Request{Header: http.Header{"If-Match": {etag(revision)}}}}
		if got := c.parseIfMatch(); !got.Holds(revision) || got.Holds(revision-1) {
			t.Fatalf("%s: %+v", etag(revision), got)
		}
	})
}

func TestCredential(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		want   string
	}{
		{http.Header{}, ""},
		{http.Header{"X-Api-Key": {"k"}}, "k"},
		{http.Header{"X-Api-Key": {"k", "k"}}, ""},
		{http.Header{"X-Api-Key": {""}, "Authorization": {"Bearer t"}}, ""},
		{http.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer t"}}, "k"},
		{http.Header{"Authorization": {"Bearer t"}}, "t"},
		{http.Header{"Authorization": {"bearer  t "}}, "t"},
		{http.Header{"Authorization": {"Basic dTpw"}}, ""},
		{http.Header{"Authorization": {"Basic dTpw", "Bearer t"}}, "t"},
		{http.Header{"Authorization": {"Bearer t", "Bearer u"}}, ""},
		{http.Header{"Authorization": {"Bearer"}}, ""},
	} {
		expect.Equal(t, Credential(&http.Request{Header: c.header}), c.want, "%v", c.header)
	}
}

func TestAcceptableMedia(t *testing.T) {
	for media, want := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/JSON": true,
		"application/merge-patch+json": true, "application/vnd.acme+json;v=1": true,
		"text/json": false, "text/plain": false, "": false, "application/json+xml": false, "json": false, "image/svg+json": false,
	} {
		expect.Equal(t, isJSON(http.Header{"Content-Type": {media}}), want, "%q", media)
	}
	for _, h := range []http.Header{{}, {"Content-Type": {"application/json", "text/html"}}, {"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}} {
		expect.That(t, !isJSON(h), "%v is accepted", h)
	}
}
