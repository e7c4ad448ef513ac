package e2e

import (
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/builder"
	"github.com/formsvc/formsvc/internal/lab/expect"
)

// The builder leaves out what the host does not offer, and keeps what a form has.
func TestTheBuilderOffersAFewThings(t *testing.T) {
	check := axe(t)
	s := newOwners(t, func(c *builder.Config) {
		c.Offer = builder.Offer{BlockTypes: []string{"short_text", "long_text", "email", "ending"}, Settings: []string{"closed", "progressBar"}, Templates: []string{"contact", "event"}, NoTheme: true}
	})
	form := s.draft("Mixed", `[{"id":"name","type":"short_text","label":"Name"},{"id":"pay","type":"payment","label":"Fee"}]`, func(n *formsvc.FormCreate) {
		n.Definition.Settings, n.Definition.Theme = []byte(`{"redirectUrl":"https://a.example/"}`), []byte(`{"font":"mono"}`)
	})
	b := s.ownersTab(1280, 900)
	s.openOwners(b, "/w/"+s.place.String(), ".forms-list")
	b.named("New form")
	b.asked()
	b.until(`[...document.querySelectorAll("dialog [name=start]")].length === 2`) // the event has other block types, and JSON is not offered
	b.escape()

	s.openOwners(b, "/"+form.ID.String(), ".outline-row")
	b.until(`document.querySelectorAll(".often button").length === 3`)
	b.named("Add")
	b.asked()
	b.until(`[...document.querySelectorAll("[data-type]")].map(e => e.dataset.type).sort().join() === "email,ending,long_text,short_text"`)
	check(b, "the menu of block types")
	b.escape()
	b.do(`document.querySelector("[data-id=pay]").click()`)
	b.until(`document.querySelector("#panel-body .notice") && document.querySelector("#panel-body fieldset").disabled`)
	check(b, "a block that is not offered")
	b.shot("offer-block")
	b.do(`document.querySelector("[data-id=pay]").dispatchEvent(new KeyboardEvent("keydown", {key: "Delete", bubbles: true}))`)
	b.until(`document.querySelector(".toast")`)
	b.do(`document.querySelector("[data-id=name]").click()`)
	b.until(`document.querySelector(".props-type select").options.length === 4 && !document.querySelector("#panel-body fieldset").disabled`)
	b.do(`document.querySelector("#tab-form").click()`)
	b.until(`document.querySelector('[data-path="/redirectUrl"] :disabled, fieldset:disabled [data-path="/redirectUrl"]') && document.querySelector('[data-path="/closed"]') && !document.querySelector('[data-path="/submitLabel"]')`)
	check(b, "the settings")
	b.shot("offer-settings")
	b.do(`document.querySelector("#tab-design").click()`)
	b.until(`document.querySelector("#panel-body fieldset").disabled`)
	check(b, "the theme")
	b.size(390, 900)
	b.shot("offer-theme")
	after := s.stored(form)
	expect.Equal(t, string(after.Blocks), string(form.Blocks), "the blocks")
}
