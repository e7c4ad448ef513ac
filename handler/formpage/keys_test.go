package formpage_test

import (
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc/handler/formpage"
)

// The keys for decimals have no minus on iPhones: they are for numbers that cannot be negative.
func TestKeysForNumbersHaveAMinus(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{})
	for block, want := range map[string]string{
		`"type":"number"`: "",
		`"type":"number","properties":{"min":0,"minVal":true}`:                         "decimal",
		`"type":"number","properties":{"min":5,"minVal":true,"max":9,"maxVal":true}`:   "decimal",
		`"type":"number","properties":{"min":0}`:                                       "", // without its switch
		`"type":"number","properties":{"minVal":true}`:                                 "",
		`"type":"number","properties":{"min":-1,"minVal":true}`:                        "",
		`"type":"number","properties":{"max":100,"maxVal":true}`:                       "",
		`"type":"opinion_scale","properties":{"from":0,"to":100000,"scaleStep":0.5}`:   "decimal",
		`"type":"opinion_scale","properties":{"from":-1000,"to":1000,"scaleStep":0.5}`: "",
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			p := s.open(s.form(kind, `[{"id":"g","type":"group","children":[{"id":"q","label":"Q",`+block+`}]}]`, "", ""), "")
			field := p.find(func(n *html.Node) bool { return attr(n, "name") == "a.q" })
			if field == nil || attr(field, "inputmode") != want || attr(field, "type") != "text" {
				t.Errorf("%s %s: inputmode %q, want %q", kind, block, attr(field, "inputmode"), want)
			}
		}
	}
}
