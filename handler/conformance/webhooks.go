package conformance

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
)

func webhookCases() []testCase {
	return []testCase{
		{"webhooks/create", "POST /webhooks returns 201 with the record and its Location, but without the secret.", nil, webhooksCreate},
		{"webhooks/enabled", "A webhook is enabled by default, and PATCH enables and disables it.", needs(NeedsReceiverURL), webhooksEnabled},
		{"webhooks/create-invalid", "An invalid WebhookCreate returns 422 with pointers and creates nothing.", nil, webhooksCreateInvalid},
		{"webhooks/url-rejected", "A destination that is not public, in any spelling, returns 422 WEBHOOK_URL_REJECTED on create and on update.", nil, webhooksURLRejected},
		{"webhooks/url-syntax-first", "The syntax of a URL is checked with the body, and its hostname is resolved only after the access check.", nil, webhooksURLSyntaxFirst},
		{"webhooks/url-unresolved", "A hostname that does not resolve is rejected.", nil, webhooksURLUnresolved},
		{"webhooks/url-accepted", "A public destination is accepted and returned unchanged.", nil, webhooksURLAccepted},
		{"webhooks/update", "PATCH changes url and signing_secret; null removes the secret.", nil, webhooksUpdate},
		{"webhooks/list", "GET /webhooks lists the webhooks of all accessible forms in items, without pagination.", nil, webhooksList},
		{"webhooks/independent", "Changes of one webhook do not affect the form's other webhooks.", nil, webhooksIndependent},
		{"webhooks/delete", "DELETE returns 204 without a body, and the webhook then returns 404.", nil, webhooksDelete},
		{"webhooks/limit", "A form never has more webhooks than its limit, even with concurrent requests.", nil, webhooksLimit},
		{"webhooks/deliveries", "Deliveries are a list in items without pagination, which is empty before the first attempt.", nil, webhooksDeliveries},
		{"webhooks/secret", "No response contains a signing secret, not even if the request with the secret is rejected.", nil, webhooksSecret},
	}
}

func webhooksCreate(s *session) {
	c := s.caller()
	form := c.form(c.workspace())
	for _, hasSecret := range []bool{false, true} {
		body := c.newHook(form)
		if hasSecret {
			body["signing_secret"] = s.newSecret()
		}
		r := c.post("/webhooks", body).want(http.StatusCreated)
		o := r.object()
		r.checkWebhook(o)
		r.same("form_id", o["form_id"], form)
		r.same("url", o["url"], s.destination)
		r.same("enabled", o["enabled"], false)
		r.same("has_secret", o["has_secret"], hasSecret)
		r.same("updated_at", o["updated_at"], o["created_at"])
		r.checkLocation("/webhooks/" + text(o, "id"))
		got := c.get("/webhooks/" + text(o, "id")).want(http.StatusOK)
		got.same("the webhook", got.object(), o)
	}
}

func webhooksEnabled(s *session) {
	c := s.caller()
	form := c.form(c.workspace())
	for _, body := range []object{{}, {"enabled": true}} {
		body["form_id"], body["url"] = form, s.destination
		r := c.post("/webhooks", body).want(http.StatusCreated)
		path := "/webhooks/" + text(r.object(), "id")
		r.checkWebhook(r.object())
		r.same("enabled", r.object()["enabled"], true)
		for _, enabled := range []bool{false, true} {
			r = c.patch(path, object{"enabled": enabled}).want(http.StatusOK)
			r.same("enabled", r.object()["enabled"], enabled)
			got := c.get(path).want(http.StatusOK)
			got.same("the webhook", got.object(), r.object())
		}
	}
}

func webhooksCreateInvalid(s *session) {
	c := s.caller()
	form := c.form(c.workspace())
	for _, bad := range []struct {
		body any
		want violations
	}{
		{object{}, violations{"/form_id": "REQUIRED", "/url": "REQUIRED"}},
		{object{"form_id": form}, violations{"/url": "REQUIRED"}},
		{s.newHook("x"), violations{"/form_id": ""}},
		{object{"form_id": form, "url": 1}, violations{"/url": "WRONG_TYPE"}},
		{s.newHook(form, "enabled", "yes"), violations{"/enabled": "WRONG_TYPE"}},
		{s.newHook(form, "signing_secret", "fifteen letters"), violations{"/signing_secret": ""}},
		{s.newHook(form, "signing_secret", ""), violations{"/signing_secret": ""}},
		{s.newHook(form, "signing_secret", strings.Repeat("é", 15)), violations{"/signing_secret": ""}},
	} {
		c.post("/webhooks", bad.body).invalid(bad.want)
	}
	for _, url := range []string{"", s.destination + strings.Repeat("a", 2048)} {
		// A rule of the body as well as of destinations: either code will do.
		c.post("/webhooks", s.newHook(form, "url", url)).want(http.StatusUnprocessableEntity)
	}
	c.post("/webhooks", s.newHook(newID())).wantError("NOT_FOUND")
	r := c.get("/webhooks").want(http.StatusOK)
	for _, o := range r.items() {
		if o["form_id"] == form {
			r.faultf("a webhook was created")
		}
	}
	c.post("/webhooks", s.newHook(form, "signing_secret", strings.Repeat("é", 16))).want(http.StatusCreated)
}

func webhooksURLRejected(s *session) {
	w := s.newWorld()
	before := w.snapshot()
	for _, bad := range s.rejectedURLs() {
		w.post("/webhooks", w.newHook(w.formID, "url", bad)).refused("WEBHOOK_URL_REJECTED")
		w.patch("/webhooks/"+w.webhookID, object{"url": bad}).refused("WEBHOOK_URL_REJECTED")
	}
	w.unchanged(before)
}

func webhooksURLSyntaxFirst(s *session) {
	w := s.newWorld()
	stranger, w := s.stranger(w)
	stranger.post("/webhooks", w.newHook(w.formID, "url", "ftp://example.com/")).refused("WEBHOOK_URL_REJECTED")
	stranger.patch("/webhooks/"+w.webhookID, object{"url": "http://user@93.184.215.14/"}).refused("WEBHOOK_URL_REJECTED")
	stranger.post("/webhooks", w.newHook(w.formID, "url", "https://name-that-nobody-has.invalid/")).refused("NOT_FOUND")
	stranger.patch("/webhooks/"+w.webhookID, object{"url": "https://name-that-nobody-has.invalid/"}).refused("NOT_FOUND")
}

func webhooksURLUnresolved(s *session) {
	w := s.newWorld()
	w.post("/webhooks", w.newHook(w.formID, "url", "https://name-that-nobody-has.invalid/")).wantError("WEBHOOK_URL_REJECTED")
}

func webhooksURLAccepted(s *session) {
	w := s.newWorld()
	for _, good := range []string{publicURL, "http://93.184.215.14", "https://93.184.215.14:8443/a%20b?c=d&e=%2F", "https://[2606:4700:4700::1111]/hook"} {
		// Nothing may be sent there: the webhook is never enabled, and is gone with the case.
		hook := w.webhook(w.formID)
		for _, r := range []*response{w.post("/webhooks", w.newHook(w.formID, "url", good)), w.patch("/webhooks/"+hook, object{"url": good})} {
			if r.status/100 != 2 {
				r.faultf("status is %d, want 2xx", r.status)
				continue
			}
			r.same("url", r.object()["url"], good)
			r.same("enabled", r.object()["enabled"], false)
			w.delete("/webhooks/" + text(r.object(), "id")).want(http.StatusNoContent)
		}
	}
}

func webhooksUpdate(s *session) {
	w := s.newWorld()
	path := "/webhooks/" + w.webhookID
	was := w.get(path).want(http.StatusOK).object()
	for _, step := range []struct{ body, want object }{
		{object{"url": s.destination + "2"}, object{"url": s.destination + "2"}},
		{object{"enabled": false, "url": s.destination}, object{"enabled": false, "url": s.destination}},
		{object{"signing_secret": s.newSecret()}, object{"has_secret": true}},
		{object{"signing_secret": s.newSecret()}, object{"has_secret": true}},
		{object{"url": s.destination + "3"}, object{"url": s.destination + "3"}}, // the secret stays
		{object{"enabled": false}, object{}},
		{object{"signing_secret": nil}, object{"has_secret": false}},
	} {
		r := w.patch(path, step.body).want(http.StatusOK)
		for name, value := range step.want {
			was[name] = value
		}
		was["updated_at"] = r.object()["updated_at"]
		r.checkWebhook(r.object())
		r.same("the webhook", r.object(), was)
		got := w.get(path).want(http.StatusOK)
		got.same("the webhook", got.object(), was)
	}
	w.patch(path, object{}).refused("VALIDATION_FAILED")
	w.patch(path, object{"signing_secret": "too short"}).invalid(violations{"/signing_secret": ""})
	w.patch(path, object{"signing_secret": ""}).invalid(violations{"/signing_secret": ""})
	w.patch(path, object{"form_id": w.formID, "enabled": false}).invalid(violations{"/form_id": "UNKNOWN_FIELD"})
}

func webhooksList(s *session) {
	c := s.caller()
	if c.target.CreateKey != nil {
		r := c.get("/webhooks").want(http.StatusOK)
		r.same("the list", r.object(), object{"items": []any{}})
	}
	workspace := c.workspace()
	var made []string
	for range 2 {
		form := c.form(workspace)
		for range 12 {
			made = append(made, c.webhook(form))
		}
	}
	r, listed := c.listed("/webhooks?limit=1")
	r.checkMembers(r.object(), []string{"items"})
	r.checkNewestFirst("created_at")
	for _, o := range r.items() {
		r.checkWebhook(o)
	}
	r.sameSet("the ids", normal(listed), made)
}

func webhooksIndependent(s *session) {
	w := s.newWorld()
	other, third := w.webhook(w.formID), w.webhook(w.formID)
	before := []string{string(w.get("/webhooks/" + w.webhookID).want(http.StatusOK).body), string(w.get("/webhooks/" + third).want(http.StatusOK).body)}
	w.patch("/webhooks/"+other, object{"url": s.destination + "2", "signing_secret": s.newSecret()}).want(http.StatusOK)
	w.delete("/webhooks/" + other).want(http.StatusNoContent)
	for i, id := range []string{w.webhookID, third} {
		r := w.get("/webhooks/" + id).want(http.StatusOK)
		r.same("the other webhook", string(r.body), before[i])
	}
	w.get("/forms/" + w.formID).want(http.StatusOK)
}

func webhooksDelete(s *session) {
	w := s.newWorld()
	path := "/webhooks/" + w.webhookID
	w.delete(path).want(http.StatusNoContent)
	w.get(path).wantError("NOT_FOUND")
	w.delete(path).wantError("NOT_FOUND")
	w.patch(path, object{"enabled": false}).wantError("NOT_FOUND")
	w.get(path + "/deliveries").wantError("NOT_FOUND")
	r, ids := w.listed("/webhooks")
	r.same("the webhooks", len(ids), 0)
}

func webhooksLimit(s *session) {
	c := s.caller()
	workspace := c.workspace()
	form := c.form(workspace)
	for range s.target.Limits.Webhooks - 2 {
		c.webhook(form)
	}
	var made atomic.Int32
	s.parallel(8, func(int) {
		switch r := c.post("/webhooks", c.newHook(form)); r.status {
		case http.StatusCreated:
			made.Add(1)
		default:
			r.refused("VALIDATION_FAILED")
		}
	})
	if made.Load() != 2 {
		s.errorf("%d webhooks were created, want 2 because of the limit", made.Load())
	}
	c.webhook(c.form(workspace)) // the limit is of a form
}

func webhooksDeliveries(s *session) {
	w := s.newWorld()
	r := w.get("/webhooks/" + w.webhookID + "/deliveries").want(http.StatusOK)
	r.same("the list", r.object(), object{"items": []any{}})
}

func webhooksSecret(s *session) {
	// That no answer has a secret is checked of every answer.
	w := s.newWorld()
	secret := s.newSecret()
	w.patch("/webhooks/"+w.webhookID, object{"signing_secret": secret, "nothing": 1}).wantError("VALIDATION_FAILED")
	w.patch("/webhooks/"+w.webhookID, object{"signing_secret": []any{secret}}).wantError("VALIDATION_FAILED")
	w.patch("/webhooks/"+w.webhookID, []byte(`{"signing_secret":"`+secret+`"`)).wantError("MALFORMED_JSON")
	w.post("/webhooks", w.newHook(newID(), "signing_secret", secret)).wantError("NOT_FOUND")
	w.post("/webhooks", w.newHook(w.formID, "url", "ftp://93.184.215.14/", "signing_secret", secret)).wantError("WEBHOOK_URL_REJECTED")
	w.patch("/webhooks/"+w.webhookID, object{"signing_secret": secret}).want(http.StatusOK)
	w.get("/webhooks").want(http.StatusOK)
	w.get("/webhooks/" + w.webhookID).want(http.StatusOK)
	w.get("/webhooks/" + w.webhookID + "/deliveries").want(http.StatusOK)
	w.get("/forms/" + w.formID).want(http.StatusOK)
}

// checkWebhook holds a webhook against the API description.
func (r *response) checkWebhook(o object) {
	r.checkMembers(o, []string{"id", "form_id", "url", "enabled", "has_secret", "created_at", "updated_at"})
	r.checkID(o, "id")
	r.checkID(o, "form_id")
	r.checkTime(o, "created_at")
	r.checkTime(o, "updated_at")
}

// rejectedURLs are destinations that the service may not send to.
func (s *session) rejectedURLs() []string {
	out := malformedURLs()
	if len(s.target.AllowedNetworks) == 0 { // else the service asks its name server about them
		out = append(out, specialNames()...)
	}
	for _, group := range []struct {
		urls    []string
		address string // where the urls could be thought to lead
	}{
		{loopbackURLs(), "127.0.0.1"},
		{loopback6URLs(), "::1"},
	} {
		if !s.allowed(group.address) {
			out = append(out, group.urls...)
		}
	}
	for _, address := range specialAddresses() {
		if s.allowed(address) {
			continue
		}
		if strings.Contains(address, ":") {
			address = "[" + address + "]"
		}
		out = append(out, "http://"+address+"/")
	}
	return out
}

// allowed reports whether the service may send to an address that is not public.
func (s *session) allowed(address string) bool {
	addr, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(s.target.AllowedNetworks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// malformedURLs break a rule that no network changes.
func malformedURLs() []string {
	return []string{
		"x", "/hook", "//93.184.215.14/", "93.184.215.14", "ftp://93.184.215.14/", "file:///etc/passwd", "javascript:alert(1)", "gopher://93.184.215.14/",
		"http://", "https:///hook", "http:93.184.215.14",
		"http://user@93.184.215.14/", "http://user:pass@93.184.215.14/", "http://@93.184.215.14/", "https://93.184.215.14/#fragment",
		"http://93.184.215.14:0/", "http://93.184.215.14:65536/", "http://93.184.215.14:22/", "http://93.184.215.14:x/",
		"http://93.184.215.14/a b", "http://93.184.215.14\\@127.0.0.1/", "http://93.184.215.14/\n",
		"http://[fe80::1%25eth0]/", "http://[::1/", "http://::1/",
	}
}

// specialNames are no public ones by their form.
func specialNames() []string {
	return []string{
		"http://intranet/", "http://host.local/", "http://db.internal/", "http://router.lan/", "http://x.home.arpa/", "http://api.svc/",
		"http://a.localhost/",
	}
}

// loopbackURLs are ways to write 127.0.0.1 and this host's name.
func loopbackURLs() []string {
	return []string{
		"http://127.0.0.1/", "http://127.1/", "http://127.0.0.1./", "http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://017700000001/", "http://0/", "http://0.0.0.0/",
		"http://１２７.０.０.１/", "http://127。0。0。1/", "http://①②⑦.0.0.1/", "http://%31%32%37.0.0.1/",
		"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/",
		"http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://ｌｏｃａｌｈｏｓｔ/",
	}
}

// loopback6URLs are ways to write ::1.
func loopback6URLs() []string { return []string{"http://[::1]/", "http://[0:0:0:0:0:0:0:1]/"} }

// specialAddresses are addresses of private and reserved networks. Some of IPv6 hold an IPv4
// address, which must not make them allowed.
func specialAddresses() []string {
	return []string{
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::127.0.0.1", "fe80::1", "fc00::1", "fd12:3456::1", "fec0::1", "ff02::1",
		"2001:db8::1", "2002:7f00:1::", "2001:0:7f00:1::", "64:ff9b::7f00:1", "4000::1",
	}
}
