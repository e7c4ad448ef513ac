package answers

import (
	"testing"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/language"
)

// The example of each type of number in each country is accepted as it is written there
// and abroad, is stored in E.164, and that is stored unchanged when it is sent again.
func TestNumbersOfEveryCountry(t *testing.T) {
	t.Parallel()
	types := []phonenumbers.PhoneNumberType{
		phonenumbers.FIXED_LINE, phonenumbers.MOBILE, phonenumbers.TOLL_FREE, phonenumbers.PREMIUM_RATE, phonenumbers.VOIP,
	}
	checked := 0
	for region := range phonenumbers.GetSupportedRegions() {
		home, abroad := newPhoneRule(region), newPhoneRule("")
		if home.country != region {
			if code, ok := normalCountry(region); ok || region != "AC" && region != "TA" {
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
				if got, ok := home.normal(national); !ok || got != want {
					t.Errorf("%s in %s becomes %q, %t, want %s", national, region, got, ok, want)
				}
			}
			for _, text := range []string{want, phonenumbers.Format(number, phonenumbers.INTERNATIONAL), phonenumbers.Format(number, phonenumbers.RFC3966)} {
				for _, rule := range []phoneRule{home, abroad} {
					if got, ok := rule.normal(text); !ok || got != want {
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
	t.Parallel()
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
			got, ok := normalCountry(code)
			if ok && !known[got] || known[code] && got != code {
				t.Errorf("%s becomes %q, %t", code, got, ok)
			}
			if region, err := language.ParseRegion(code); known[code] && err == nil {
				if alpha2, ok := normalCountry(region.ISO3()); !ok || alpha2 != code {
					t.Errorf("%s becomes %q, %t, want %s", region.ISO3(), alpha2, ok, code)
				}
			}
		}
	}
}
