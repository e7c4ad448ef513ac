package formpage_test

import (
	"encoding/json"
	"net/url"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage"
)

// A link fills in what its author meant, in the words that authors write and with a plus that
// was not encoded.
func TestLinksFillIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	choices := `"choices":[{"id":"r","label":"Rouge"},{"id":"c","label":"Caf\u00e9"},{"id":"b","label":"Bed, breakfast"},{"id":"d","label":"r"}]`
	for _, c := range []struct{ block, lang, link, want string }{
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=+4915123456789", `"+4915123456789"`},
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=%2B4915123456789", `"+4915123456789"`},
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=+49+151+23456789", `"+4915123456789"`},
		{`"type":"phone","properties":{"defaultCountry":"FR"}`, "", "q=+1+(212)+555-1234", `"+12125551234"`},
		{`"type":"phone"`, "", "q=%20447911123456", `"+447911123456"`},
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=+0151+23456789", `"+4915123456789"`},
		{`"type":"phone","properties":{"defaultCountry":"DE"}`, "", "q=015123456789", `"+4915123456789"`},
		{`"type":"email"`, "", "q=ann+news@example.com", `"ann+news@example.com"`},
		{`"type":"email"`, "", "q=a+b+c@example.com", `"a+b+c@example.com"`},
		{`"type":"email"`, "", "q=Ann+Lee+<ann@example.com>", `"ann@example.com"`},
		{`"type":"short_text"`, "", "q=+a+b", `"a b"`},
		{`"type":"yes_no"`, "", "q=yes", `true`}, {`"type":"yes_no"`, "", "q=NO", `false`}, {`"type":"yes_no"`, "", "q=1", `true`}, {`"type":"yes_no"`, "", "q=0", `false`},
		{`"type":"yes_no"`, "de", "q=Ja", `true`}, {`"type":"yes_no"`, "de", "q=nein", `false`}, {`"type":"yes_no"`, "pl", "q=tak", `true`}, {`"type":"yes_no"`, "de", "q=True", `true`},
		{`"type":"yes_no"`, "", "q=maybe", ``},
		{`"type":"country"`, "", "q=Germany", `"DE"`}, {`"type":"country"`, "de", "q=Deutschland", `"DE"`}, {`"type":"country"`, "de", "q=germany", `"DE"`}, {`"type":"country"`, "", "q=deu", `"DE"`},
		{`"type":"country"`, "fr", "q=C%C3%B4te+d'Ivoire", `"CI"`}, {`"type":"country"`, "", "q=united+states", `"US"`}, {`"type":"country"`, "ja", "q=%E6%97%A5%E6%9C%AC", `"JP"`},
		{`"type":"single_choice",` + choices, "", "q=Cafe%CC%81", `"c"`}, {`"type":"dropdown",` + choices, "", "q=CAF%C3%89", `"c"`}, {`"type":"single_choice",` + choices, "", "q=bed,+breakfast", `"b"`},
		{`"type":"single_choice",` + choices, "", "q=r", `"r"`}, {`"type":"single_choice",` + choices, "", "q=r,c", ``},
		{`"type":"picture_choice",` + choices, "", "q=rouge", `"r"`},
		{`"type":"multiple_choice",` + choices, "", "q=Rouge&q=c", `["r","c"]`}, {`"type":"multiple_choice",` + choices, "", "q=Rouge,c", `["r","c"]`},
		{`"type":"multiple_choice",` + choices, "", "q=Bed,+breakfast,+Cafe%CC%81", `["c","b"]`}, {`"type":"multiple_choice",` + choices, "", "q=r,nothing", `["r"]`},
		{`"type":"multiple_choice","properties":{"otherOption":true},` + choices, "", "q=c,mine", `["c",{"other":"mine"}]`},
		{`"type":"picture_choice","properties":{"multiSelection":true},` + choices, "", "q=c,r", `["r","c"]`},
		{`"type":"ranking",` + choices, "", "q=c,b,r,d", `["c","b","r","d"]`},
	} {
		for _, kind := range []string{"SINGLE", "MULTI"} {
			form := s.form(kind, `[{"id":"q","label":"Q",`+c.block+`}]`, "", "")
			p := s.open(form, c.link+"&lang="+c.lang)
			end := p.press("next")
			if end.readingOf() != "" {
				end = end.press("next") // what the page asks about the number
			}
			stored := s.answers(form)
			if len(stored) != 1 || chosen(stored[0]["q"]) != c.want {
				t.Errorf("%s %s %s: %d %s, stored is %v, want %s", kind, c.block, c.link, end.status, end.text("summary"), stored, c.want)
			}
		}
	}
	// A link that cannot be read is shown, not lost without a word.
	p := s.open(s.form("MULTI", `[{"id":"q","label":"Q","type":"country"}]`, "", ""), url.Values{"q": {"Atlantis"}}.Encode())
	if p.values.Get("a.q") != "ATLANTIS" {
		t.Errorf("the country is %q", p.values.Get("a.q"))
	}
}

// chosen leaves the ids of choices that an answer has.
func chosen(raw string) string {
	var one struct{ ID string }
	if json.Unmarshal([]byte(raw), &one) == nil && one.ID != "" {
		return `"` + one.ID + `"`
	}
	var list []map[string]string
	if json.Unmarshal([]byte(raw), &list) != nil {
		return raw
	}
	var ids []any
	for _, c := range list {
		if c["id"] != "" {
			ids = append(ids, c["id"])
		} else {
			ids = append(ids, c)
		}
	}
	out, _ := json.Marshal(ids)
	return string(out)
}
