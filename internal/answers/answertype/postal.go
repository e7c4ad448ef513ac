package answertype

import "strings"

// withoutZip lists the countries without postal codes, and withState lists the countries with states. Both come from
// the address formats in libaddressinput (google/libaddressinput, cpp/src/region_data_constants.cc, June 2025). Hong
// Kong is not in withState, because its residents do not call its areas states.
const (
	withoutZip = `AE AG AO AQ AW BF BI BJ BO BQ BS BV BW BZ CD CF CG CI CK CM CW DJ DM ER FJ GA GD GH GM GQ GY HK JM
KI KM KN LC LY ML MO MR MS MW NR NU PA PS QA RW SB SC SL SR SS ST SX SY TD TF TG TK TL TO TV UG VU
WS YE ZW`
	withState = `AE AM AR AS AU BB BR BS BY CA CC CL CN CO CR CU CV CX EE EG ES FM HM HN ID IE IN IQ IR IT JM JP KI
KN KP KR KY KZ LT LV MH MN MP MX MY MZ NF NG NI NR PA PE PF PG PH PW RO RU SC SO SR SV TH TR TV TW
UA UM US UY UZ VE VI VN`
)

// AddressHasPart reports whether addresses in a country have a part. It returns true for unknown countries.
func AddressHasPart(part, country string) bool {
	switch code, known := CountryCode(country); {
	case known && part == "zip":
		return !strings.Contains(withoutZip, code)
	case known && part == "state":
		return strings.Contains(withState, code)
	}
	return true
}
