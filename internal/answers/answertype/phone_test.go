package answertype

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/language"
)

// The example of each type of number in each country is accepted as it is written there
// and abroad, is stored in E.164, and that is stored unchanged when it is sent again.
func TestNumbersOfEveryCountry(t *testing.T) {
	types := []phonenumbers.PhoneNumberType{
		phonenumbers.FIXED_LINE, phonenumbers.MOBILE, phonenumbers.TOLL_FREE, phonenumbers.PREMIUM_RATE, phonenumbers.VOIP,
	}
	checked := 0
	for region := range phonenumbers.GetSupportedRegions() {
		home, abroad := newPhoneRule(region), newPhoneRule("")
		if home.country != region {
			if code, ok := CountryCode(region); ok || region != "AC" && region != "TA" {
				t.Errorf("%s becomes %s (%s)", region, home.country, code)
			}
			continue // islands with numbers but without a code of their own in ISO
		}
		for _, kind := range types {
			number := phonenumbers.GetExampleNumberForType(region, kind)
			if number == nil || !phonenumbers.IsValidNumber(number) {
				continue
			}
			checked++
			want := phonenumbers.Format(number, phonenumbers.E164)
			national := phonenumbers.Format(number, phonenumbers.NATIONAL)
			// The library does not read all that it writes: Argentina's mobile numbers.
			if read, err := phonenumbers.Parse(national, region); err == nil && phonenumbers.IsValidNumber(read) {
				if got, ok := home.Normalize(national); !ok || got != want {
					t.Errorf("%s in %s becomes %q, %t, want %s", national, region, got, ok, want)
				}
			}
			for _, text := range []string{want, phonenumbers.Format(number, phonenumbers.INTERNATIONAL), phonenumbers.Format(number, phonenumbers.RFC3966)} {
				for _, rule := range []PhoneRule{home, abroad} {
					if got, ok := rule.Normalize(text); !ok || got != want {
						t.Errorf("%s, by default of %q, becomes %q, %t, want %s", text, rule.country, got, ok, want)
					}
				}
			}
		}
	}
	if checked < 600 {
		t.Errorf("%d numbers were checked", checked)
	}
}

// The list of ISO 3166-1, as of 2026, and Kosovo.
const countries = "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCMCNCOCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFR" +
	"GAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMINIOIQIRISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZ" +
	"NANCNENFNGNINLNONPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTNTOTRTTTVTWTZUAUGUMUSUYUZVAVCVEVGVIVNVU" +
	"WFWSXKYEYTZAZMZW"

func TestCountriesAreThoseOfISO(t *testing.T) {
	known := make(map[string]bool)
	for i := 0; i < len(countries); i += 2 {
		known[countries[i:i+2]] = true
	}
	if len(known) != 250 {
		t.Fatalf("the list has %d countries, want 249 and Kosovo", len(known))
	}
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			code := string(a) + string(b)
			got, ok := CountryCode(code)
			if ok && !known[got] || known[code] && got != code {
				t.Errorf("%s becomes %q, %t", code, got, ok)
			}
			if region, err := language.ParseRegion(code); known[code] && err == nil {
				if alpha2, ok := CountryCode(region.ISO3()); !ok || alpha2 != code {
					t.Errorf("%s becomes %q, %t, want %s", region.ISO3(), alpha2, ok, code)
				}
			}
		}
	}
}

// A page tells how a number is read before it is sent.
func TestReadPhone(t *testing.T) {
	for _, c := range []struct {
		text, country string
		want          Phone
	}{
		{"0151 23456789", "DE", Phone{"+4915123456789", "+49 1512 3456789", true, ""}},
		{" tel:+33 6 12 34 56 78", "DE", Phone{"+33612345678", "+33 6 12 34 56 78", false, ""}},
		{"06 12 34 56 78", "DE", Phone{"+49612345678", "+49 6123 45678", true, ""}},
		{"06 12 34 56 78", "fr", Phone{"+33612345678", "+33 6 12 34 56 78", true, ""}},
		{"49 151 23456789", "DE", Phone{"+494915123456789", "+49 491 5123456789", true, "+49 1512 3456789"}},
		{"33612345678", "FR", Phone{"+33612345678", "+33 6 12 34 56 78", true, ""}}, // the library knows
		{"0049 151 23456789", "DE", Phone{"+4915123456789", "+49 1512 3456789", true, ""}},
		{"06 12 34 56 78", "", Phone{}},
		{"nobody", "DE", Phone{}},
		{"", "DE", Phone{}},
		{strings.Repeat(" 1", maxPhone), "US", Phone{}},
	} {
		got, ok := ParsePhone(c.text, c.country)
		if got != c.want || ok != (c.want != Phone{}) {
			t.Errorf("%q in %s is %+v %v, want %+v", c.text, c.country, got, ok, c.want)
		}
		// It is what the service stores.
		if stored, _ := newPhoneRule(c.country).Normalize(strings.TrimSpace(c.text)); stored != c.want.Number && len(c.text) < maxPhone {
			t.Errorf("%q in %s is stored as %q", c.text, c.country, stored)
		}
	}
	for country, want := range map[string]string{"DE": "DE 49", "deu": "DE 49", "UK": "GB 44", "AQ": " 0", "": " 0", "419": " 0"} {
		if code, calling := LookupPhoneCountry(country); fmt.Sprint(code, " ", calling) != want {
			t.Errorf("%s: %s %d, want %s", country, code, calling, want)
		}
	}
}
