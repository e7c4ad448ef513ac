package answers

import (
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// A meaning is what becomes of one answer: the value that is stored, or "!" and the
// code with which it is refused.
type meaning struct{ in, out string }

// meanings has, by type and further members of the block, what phones, browsers,
// spreadsheets and other form services send.
var meanings = []struct {
	typ, members string
	answers      []meaning
}{
	{schema.TypeShortText, ``, []meaning{
		{`"Ada"`, `"Ada"`},
		{`"  Ada Lovelace \t"`, `"Ada Lovelace"`},
		{`"Zoe\u0308"`, `"Zoë"`},                // a Mac's decomposed letters
		{`"\u212bngstro\u0308m"`, `"Ångström"`}, // the sign, not the letter
		{`"Vie\u0323\u0302t"`, `"Việt"`},        // marks in another order
		{`"O\u2019Neil"`, `"O’Neil"`},           // a phone's apostrophe
		{`"O'Neill & Sons"`, `"O'Neill & Sons"`}, {`"X Æ A-12"`, `"X Æ A-12"`}, {`"Jr. \"Bob\" <b>"`, `"Jr. \"Bob\" <b>"`}, {`"O"`, `"O"`}, {`"李小龍"`, `"李小龍"`},
		{`"\u1112\u1161\u11ab"`, `"한"`},                                             // Jamo
		{`"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"`, "\"می\u200cخواهم\""}, // a joiner inside stays
		{`"\u2067\u05e9\u05dc\u05d5\u05dd\u2069!"`, "\"\u2067שלום\u2069!\""},        // isolates stay
		{`"👩\u200d🔬"`, "\"👩\u200d🔬\""},
		{`"a\tb"`, `"a\tb"`},
		{`"\u00a0a\u3000"`, `"a"`},
		{`"=1+1"`, `"=1+1"`},
		{`"<b>&amp;"`, `"<b>&amp;"`},
		{`"\u200b\ufeff"`, ``}, // nothing can be seen
		{`"\u2800\u3164"`, ``},
		{`"a\nb"`, "!BAD_FORMAT"},
		{`"a\r\nBcc: x"`, "!BAD_FORMAT"},
		{`"a\u2028b"`, `"a b"`}, {`"a\u000b\u000cb\u2029"`, `"a  b"`}, // pasted line ends
		{`"\u202aa\u202c \u202b\u202ab\u202c\u202c"`, `"a b"`}, {`"a\u202c"`, "!BAD_FORMAT"}, {`"\u202aa"`, "!BAD_FORMAT"}, {`"\u202ea\u202c"`, "!BAD_FORMAT"},
		{`"a\u0085b"`, "!BAD_FORMAT"},
		{`"a\u0007b"`, "!BAD_FORMAT"},
		{`"a\u001b[31m"`, "!BAD_FORMAT"},
		{`"a\u0000b"`, "!BAD_FORMAT"},
		{`"abc\u202egpj.exe"`, "!BAD_FORMAT"},
		{`"a\u202db\u202c"`, "!BAD_FORMAT"},
		{`"\ud800"`, "!BAD_FORMAT"},
		{`12`, "!WRONG_TYPE"},
		{`{"text":"a"}`, "!WRONG_TYPE"},
		{`"` + strings.Repeat("a", 10_001) + `"`, "!TOO_LONG"},
	}},
	{schema.TypeShortText, `"properties":{"maxChars":3}`, []meaning{
		{`" abc "`, `"abc"`},
		{`"e\u0301e\u0301e\u0301"`, `"ééé"`},
		{`"😀😀😀"`, `"😀😀😀"`},
		{`"\u0958"`, `"क़"`}, // becomes two
		{`"\u0958\u0958"`, "!TOO_LONG"},
		{`"abcd"`, "!TOO_LONG"},
	}},
	{schema.TypeLongText, `"properties":{"maxChars":5}`, []meaning{
		{`"a\nb\nc"`, `"a\nb\nc"`}, {`"a\r\nb\r\nc"`, `"a\nb\nc"`}, {`"abc👍👍"`, `"abc👍👍"`}, {`"a\r\nb\r\ncd"`, "!TOO_LONG"}, {`"abcd👍👍"`, "!TOO_LONG"},
	}},
	{schema.TypeLongText, ``, []meaning{
		{`"one"`, `"one"`},
		{`"one\r\ntwo\rthree\nfour"`, `"one\ntwo\nthree\nfour"`},
		{`"\n\n one \n\n"`, `"one"`},
		{`"a\tb"`, `"a\tb"`},
		{`"a\u2028b\u2029\u2029c"`, `"a\nb\n\nc"`},
		{`"caf\u0065\u0301\r\n"`, `"café"`},
		{`"a\u00adb"`, "\"a\u00adb\""},
		{`"\u0928\u094d\u200d"`, "\"न्\u200d\""},
		{`"  - item\n  - item"`, "\"- item\\n  - item\""},
		{`"\u2066a\u2069"`, "\"\u2066a\u2069\""},
		{`" \u200b\n\t"`, ``},
		{`"a\u000bb"`, `"a\nb"`}, // Word's line break
		{`"a\u000cb"`, `"a\nb"`},
		{`"a\u0085b"`, "!BAD_FORMAT"},
		{`"a\u0008"`, "!BAD_FORMAT"},
		{`"\u001b[2J"`, "!BAD_FORMAT"},
		{`"a\u007fb"`, "!BAD_FORMAT"},
		{`"a\u009bb"`, "!BAD_FORMAT"},
		{`"\u202aa\u202c\u2067b\u2069"`, "\"a\u2067b\u2069\""}, // isolates have their use
		{`"\u202ba\u202a\r\nb\u202c\u202c\n\u202a\u202c"`, `"a\nb"`},
		{`"a\u202cb\u202ac"`, "!BAD_FORMAT"},
		{`"\u202aa\u202db\u202c\u202c"`, "!BAD_FORMAT"},
		{`"a\u202bb"`, "!BAD_FORMAT"},
		{`["one","two"]`, "!WRONG_TYPE"},
		{`false`, "!WRONG_TYPE"},
		{`"` + strings.Repeat("é", 100_001) + `"`, "!TOO_LONG"},
	}},
	{schema.TypeEmail, ``, []meaning{
		{`"ada@example.com"`, `"ada@example.com"`},
		{`" Ada.Lovelace@Example.COM "`, `"Ada.Lovelace@example.com"`},
		{`"ada+news@example.co.uk"`, `"ada+news@example.co.uk"`},
		{`"\u202aada@example.com\u202c"`, `"ada@example.com"`}, // out of another program
		{`"ada@example.com\u200b"`, `"ada@example.com"`},
		{`"info@M\u00dcNCHEN.example"`, `"info@münchen.example"`},
		{`"info@mu\u0308nchen.example"`, `"info@münchen.example"`},
		{`"info@XN--MNCHEN-3YA.example"`, `"info@münchen.example"`},
		{`"ada@fa\u00df.de"`, `"ada@faß.de"`},
		{`"ada@\uff45\uff58\uff41\uff4d\uff50\uff4c\uff45\u3002com"`, `"ada@example.com"`}, // an IME's letters
		{`"\u7528\u6237@\u4f8b\u5b50.\u5e7f\u544a"`, `"用户@例子.广告"`},
		{`"o'neil_1@sub.example.museum"`, `"o'neil_1@sub.example.museum"`},
		{`"1234567890@example.com"`, `"1234567890@example.com"`},
		{`"a@r3---sn-ab.example.com"`, `"a@r3---sn-ab.example.com"`},
		{`"ada"`, "!BAD_FORMAT"},
		{`"ada@example"`, "!BAD_FORMAT"},
		{`"ada@localhost"`, "!BAD_FORMAT"},
		{`"ada@example,com"`, "!BAD_FORMAT"},
		{`"ada@example..com"`, "!BAD_FORMAT"},
		{`"ada@1.5"`, "!BAD_FORMAT"},
		{`"ada@127.0.0.0x1"`, "!BAD_FORMAT"},
		{`"ada@[192.0.2.1]"`, "!BAD_FORMAT"},
		{`"ada@exa_mple.com"`, "!BAD_FORMAT"},
		{`"ada@-a.com"`, "!BAD_FORMAT"},
		{`"ada@xn--a.com"`, "!BAD_FORMAT"},
		{`"ada@a\u200db.com"`, "!BAD_FORMAT"}, // a joiner where no script needs it
		{`"ada@\u05d0a.com"`, "!BAD_FORMAT"},  // against the rule of writing directions
		{`"a@b.example;c@d.example"`, "!BAD_FORMAT"},
		{`"a@b.example, c@d.example"`, "!BAD_FORMAT"},
		{`"Ada <ada@example.com>"`, `"ada@example.com"`},
		{`"\u202aAda\u202c <mailto:ada@example.com> "`, `"ada@example.com"`},
		{`"ada@example.com <ada@example.com>"`, `"ada@example.com"`},
		{`"MailTo:ada@example.com?subject=x"`, `"ada@example.com"`},
		{`"ada＠example。com"`, `"ada@example.com"`},
		{`"ａｄａ＋１＠ｅｘａｍｐｌｅ．ｃｏｍ"`, `"ada+1@example.com"`},
		{`"bob@example.com <ada@example.com>"`, "!BAD_FORMAT"}, // which of the two
		{`"Ada <ada@example.com>, Bob <bob@example.com>"`, "!BAD_FORMAT"},
		{`"mailto:"`, "!BAD_FORMAT"},
		{`"ada@example.com\r\nBcc: b@example.com"`, "!BAD_FORMAT"},
		{`"a\u0000@example.com"`, "!BAD_FORMAT"},
		{`"ada@` + strings.Repeat("\u00fc", 60) + `.com"`, "!BAD_FORMAT"}, // longer than a label once encoded
		{`{"email":"ada@example.com"}`, "!WRONG_TYPE"},
		{`"` + strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 93) + `example"`, "!TOO_LONG"},
	}},
	{schema.TypePhone, ``, []meaning{
		{`"+31201234567"`, `"+31201234567"`},
		{`"+31 20 123 45 67"`, `"+31201234567"`},
		{`"+1 (415) 555-2671"`, `"+14155552671"`},
		{`"+1.415.555.2671"`, `"+14155552671"`},
		{`"tel:+14155552671"`, `"+14155552671"`},
		{`"\u202a+49 30 1234567\u202c"`, `"+49301234567"`}, // out of a phone's contacts
		{`"+४९ ३० १२३४५६७"`, `"+49301234567"`},
		{`"+49 30 \u202e1234567"`, "!BAD_FORMAT"}, // shown in another order
		{`"+49\u00a030/1234567"`, `"+49301234567"`},
		{`"+49 (0)30 1234567"`, `"+49301234567"`},
		{`"\uff0b\uff14\uff19\uff13\uff10\uff11\uff12\uff13\uff14\uff15\uff16\uff17"`, `"+49301234567"`}, // an IME's digits
		{`"+\u0662\u0660\u0662\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668"`, `"+20212345678"`},
		{`"+39 06 1234567"`, `"+39061234567"`},
		{`"+800 1234 5678"`, `"+80012345678"`},
		{`"+44\u201120\u20117946\u20110018"`, `"+442079460018"`}, // hyphens that do not break
		{`"0201234567"`, "!BAD_FORMAT"},
		{`"(415) 555-2671"`, "!BAD_FORMAT"},
		{`"0031201234567"`, "!BAD_FORMAT"},
		{`"+31"`, "!BAD_FORMAT"},
		{`"+999 123 456 789"`, "!BAD_FORMAT"},
		{`"+31 20 123"`, "!BAD_FORMAT"},
		{`"+1 415 555 2671 ext. 12"`, "!BAD_FORMAT"}, // E.164 would lose it
		{`"+1 415 555 2671 x12"`, "!BAD_FORMAT"},
		{`"tel:+14155552671;ext=12"`, "!BAD_FORMAT"},
		{`"+31201234567 or +31207654321"`, "!BAD_FORMAT"},
		{`"+31201234567, +31207654321"`, "!BAD_FORMAT"},
		{`"+31201234567+31207654321"`, "!BAD_FORMAT"},
		{`"none"`, "!BAD_FORMAT"},
		{`"+1 800 FLOWERS"`, "!BAD_FORMAT"},
		{`"911"`, "!BAD_FORMAT"},
		{`"+31 20\r\n1234567"`, "!BAD_FORMAT"},
		{`31201234567`, "!WRONG_TYPE"},
		{`"` + strings.Repeat("+31201234567", 6) + `"`, "!TOO_LONG"},
	}},
	{schema.TypePhone, `"properties":{"defaultCountry":"de"}`, []meaning{
		{`"030 1234567"`, `"+49301234567"`},
		{`"(030) 123-4567"`, `"+49301234567"`},
		{`"0049 30 1234567"`, `"+49301234567"`},
		{`"+31201234567"`, `"+31201234567"`},
		{`"\u0660\u0663\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667"`, `"+49301234567"`},
		{`"112"`, "!BAD_FORMAT"},
		{`"1"`, "!BAD_FORMAT"},
	}},
	{schema.TypePhone, `"properties":{"defaultCountry":"Narnia"}`, []meaning{{`"030 1234567"`, "!BAD_FORMAT"}, {`"+49301234567"`, `"+49301234567"`}}},
	{schema.TypeWebsite, ``, []meaning{
		{`"https://example.com/"`, `"https://example.com/"`},
		{`"example.com"`, `"https://example.com"`},
		{`"www.Example.COM/Path?q=A#F"`, `"https://www.example.com/Path?q=A#F"`},
		{`"HTTP://EXAMPLE.COM"`, `"http://example.com"`},
		{`" example.com/a%20b "`, `"https://example.com/a%20b"`},
		{`"example.com:8443/x"`, `"https://example.com:8443/x"`},
		{`"https://example.com:/x"`, `"https://example.com/x"`},
		{`"m\u00fcnchen.example/stra\u00dfe"`, `"https://münchen.example/straße"`},
		{`"https://xn--mnchen-3ya.example"`, `"https://münchen.example"`},
		{`"https://8.8.8.8/dns"`, `"https://8.8.8.8/dns"`},
		{`"https://[2606:4700:0:0::1111]:443/"`, `"https://[2606:4700::1111]:443/"`},
		{`"example.com/?next=https://other.example"`, `"https://example.com/?next=https://other.example"`},
		{`"https://example.com?q=1"`, `"https://example.com?q=1"`},
		{`"1.5"`, "!BAD_FORMAT"},
		{`"https://.."`, "!BAD_FORMAT"},
		{`"https://a..b"`, "!BAD_FORMAT"},
		{`"example"`, "!BAD_FORMAT"},
		{`"http://localhost"`, "!BAD_FORMAT"},
		{`"https://127.0.0.1"`, "!BAD_FORMAT"},
		{`"https://10.0.0.1/"`, "!BAD_FORMAT"},
		{`"https://169.254.169.254/"`, "!BAD_FORMAT"},
		{`"https://[::1]/"`, "!BAD_FORMAT"},
		{`"https://[::ffff:8.8.8.8]/"`, "!BAD_FORMAT"},
		{`"https://127.1"`, "!BAD_FORMAT"},
		{`"https://0x7f.0.0.0x1"`, "!BAD_FORMAT"},
		{`"https://2130706433/"`, "!BAD_FORMAT"},
		{`"https://8.8.8.8.8"`, "!BAD_FORMAT"},
		{`"https://exa%6Dple.com"`, "!BAD_FORMAT"},
		{`"https://user:pw@example.com"`, "!BAD_FORMAT"},
		{`"https://example.com@evil.example"`, "!BAD_FORMAT"},
		{`"javascript:alert(1)"`, "!BAD_FORMAT"},
		{`"ftp://example.com"`, "!BAD_FORMAT"},
		{`"ada@example.com"`, "!BAD_FORMAT"},
		{`"https://example.com:99999"`, "!BAD_FORMAT"},
		// Underscores in names of machines, and paths as browsers take them
		{`"my_app.example.com"`, `"https://my_app.example.com"`}, {`"https://_a.B_c.example.co.uk/x_y"`, `"https://_a.b_c.example.co.uk/x_y"`}, {`"a_b.m\u00fcnchen.example"`, `"https://a_b.münchen.example"`},
		{`"my_example.com"`, "!BAD_FORMAT"}, {`"a.my_example.com"`, "!BAD_FORMAT"}, {`"example.c_m"`, "!BAD_FORMAT"}, {`"_.example.com"`, "!BAD_FORMAT"},
		{`"https://example.com/a b"`, `"https://example.com/a%20b"`}, {`"example.com/100%"`, `"https://example.com/100%"`}, {`"example.com/100%/x?y=50%zz&q=a b#c d"`, `"https://example.com/100%/x?y=50%zz&q=a%20b#c%20d"`},
		{`"example.com/[a]|(b)/{c}^"`, `"https://example.com/[a]|(b)/%7Bc%7D%5E"`}, {`"example.com/\u65e5\u672c\u3000\u8a9e"`, `"https://example.com/日本%E3%80%80語"`}, {`"example.com/a\\b?c\\d"`, `"https://example.com/a/b?c%5Cd"`},
		{`"example.com/?q=\"x\"{y}"`, `"https://example.com/?q=%22x%22{y}"`}, {`"example.com/a https://example.org/b"`, "!BAD_FORMAT"}, {`"example.com/<b>"`, "!BAD_FORMAT"}, {`"my site.example.com/x"`, "!BAD_FORMAT"},
		{`"https://example.com/\u202egnp"`, "!BAD_FORMAT"},
		{`"https://example.com\\@evil.example"`, "!BAD_FORMAT"},
		{`["https://example.com"]`, "!WRONG_TYPE"},
		{`"https://example.com/` + strings.Repeat("a", 2048) + `"`, "!TOO_LONG"},
	}},
	{schema.TypeNumber, ``, []meaning{
		{`0`, `0`}, {`-0.0`, `0`}, {`42`, `42`}, {`1.50`, `1.5`}, {`"42"`, `42`}, {`" -1.50 "`, `-1.5`}, {`1e3`, `1000`}, {`1E-2`, `0.01`},
		{`12345678901234567890.12`, `12345678901234567890`},
		{`12345678901234567890`, `12345678901234567890`}, {`1234567.12345678`, `1234567.12345678`}, {`0.30000000000000004`, `0.30000000000000004`},
		{`1001.00000000000000000000001`, `1001`}, {`-0.10000000000000000000001`, `-0.1`}, {`"\ufeff1\ufeff"`, `1`}, {`1e300`, `1e+300`}, {`0.1`, `0.1`}, {`"\u200b"`, ``},
		{`"1,5"`, "!WRONG_TYPE"}, {`"1.000,5"`, "!WRONG_TYPE"}, {`"1 000"`, "!WRONG_TYPE"}, {`"12 kg"`, "!WRONG_TYPE"}, {`"0x10"`, "!WRONG_TYPE"},
		{`"NaN"`, "!WRONG_TYPE"}, {`"Infinity"`, "!WRONG_TYPE"}, {`"+1"`, "!WRONG_TYPE"}, {`".5"`, "!WRONG_TYPE"}, {`"\u0661"`, "!WRONG_TYPE"},
		{`true`, "!WRONG_TYPE"}, {`[1]`, "!WRONG_TYPE"}, {`1e400`, "!BAD_FORMAT"}, {`01`, "!BAD_FORMAT"},
	}},
	{schema.TypeNumber, `"properties":{"min":1,"max":3,"minVal":true,"maxVal":true}`, []meaning{
		{`1`, `1`}, {`3.0`, `3`}, {`0.999`, "!OUT_OF_RANGE"}, {`"3.01"`, "!OUT_OF_RANGE"},
		{`3.00000000000000000000000001`, `3`}, {`0.99999999999999999999999999`, `1`}, // what is stored is within
	}},
	{schema.TypeNumber, `"properties":{"min":-1e22,"max":1e22,"minVal":true,"maxVal":true}`, []meaning{
		{`10000000000000000000000`, `10000000000000000000000`}, {`-9999999999999999999999`, `-9999999999999999999999`},
		{`10000000000000000000001`, "!OUT_OF_RANGE"}, {`-10000000000000000000001`, "!OUT_OF_RANGE"}, // the same float64 as the bound
	}},
	{schema.TypeNumber, `"properties":{"min":1,"max":3}`, []meaning{{`-7`, `-7`}, {`7`, `7`}}}, // neither counts
	{schema.TypeRating, ``, []meaning{
		{`1`, `1`}, {`2`, `2`}, {`3`, `3`}, {`4`, `4`}, {`5`, `5`}, {`"3"`, `3`}, {`3.0`, `3`}, {`30e-1`, `3`}, {`" 4 "`, `4`}, {`"5.0"`, `5`},
		{`0`, "!OUT_OF_RANGE"}, {`6`, "!OUT_OF_RANGE"}, {`-1`, "!OUT_OF_RANGE"}, {`1e300`, "!OUT_OF_RANGE"}, {`2.5`, "!WRONG_TYPE"}, {`"4,0"`, "!WRONG_TYPE"},
		{`"★★★"`, "!WRONG_TYPE"}, {`"3/5"`, "!WRONG_TYPE"}, {`true`, "!WRONG_TYPE"}, {`{"value":3}`, "!WRONG_TYPE"}, {`[3]`, "!WRONG_TYPE"},
	}},
	{schema.TypeRating, `"properties":{"to":10}`, []meaning{{`10`, `10`}, {`11`, "!OUT_OF_RANGE"}}},
	{schema.TypeOpinionScale, ``, []meaning{
		{`1`, `1`}, {`2`, `2`}, {`5`, `5`}, {`7.0`, `7`}, {`10`, `10`}, {`"1"`, `1`}, {`"10"`, `10`}, {`" 6 "`, `6`}, {`1e1`, `10`}, {`40e-1`, `4`},
		{`5.000000001`, `5`}, {`10.00000000000000000001`, `10`},
		{`0`, "!OUT_OF_RANGE"}, {`11`, "!OUT_OF_RANGE"}, {`-5`, "!OUT_OF_RANGE"}, {`1.5`, "!OUT_OF_RANGE"}, {`1e300`, "!OUT_OF_RANGE"}, {`"11"`, "!OUT_OF_RANGE"},
		{`"ten"`, "!WRONG_TYPE"}, {`"1-10"`, "!WRONG_TYPE"}, {`false`, "!WRONG_TYPE"}, {`[5]`, "!WRONG_TYPE"},
	}},
	{schema.TypeOpinionScale, `"properties":{"from":-1,"to":1,"scaleStep":0.1}`, []meaning{{`-0.7`, `-0.7`}, {`0.30`, `0.3`}, {`1`, `1`}, {`0.30000000000000004`, `0.3`}, {`0.35`, "!OUT_OF_RANGE"}, {`1.1`, "!OUT_OF_RANGE"}}},
	{schema.TypeNPS, ``, []meaning{
		{`0`, `0`}, {`1`, `1`}, {`5`, `5`}, {`9`, `9`}, {`10`, `10`}, {`"0"`, `0`}, {`"10"`, `10`}, {`10.0`, `10`}, {`1e1`, `10`}, {`-0`, `0`},
		{`-1`, "!OUT_OF_RANGE"}, {`11`, "!OUT_OF_RANGE"}, {`100`, "!OUT_OF_RANGE"}, {`"11"`, "!OUT_OF_RANGE"}, {`9.5`, "!WRONG_TYPE"}, {`"promoter"`, "!WRONG_TYPE"},
		{`true`, "!WRONG_TYPE"}, {`"9/10"`, "!WRONG_TYPE"}, {`{}`, "!WRONG_TYPE"}, {`[10]`, "!WRONG_TYPE"},
	}},
	{schema.TypeYesNo, ``, yesOrNo},
	{schema.TypeLegal, ``, yesOrNo},
	{schema.TypeLegal, `"required":true`, []meaning{{`true`, `true`}, {`false`, "!REQUIRED"}, {`"false"`, "!REQUIRED"}}},
	{schema.TypeLegal, `"properties":{"legalStopFurther":true}`, []meaning{{`null`, ``}, {`false`, "!REQUIRED"}}},
	{schema.TypeYesNo, `"required":true`, []meaning{{`false`, `false`}}},
	{schema.TypeSingleChoice, offered, oneChoice},
	{schema.TypeDropdown, offered, oneChoice},
	{schema.TypePictureChoice, offered, oneChoice},
	{schema.TypeMultipleChoice, offered, manyChoices},
	{schema.TypePictureChoice, strings.Replace(offered, `"properties":{`, `"properties":{"multiSelection":true,`, 1), manyChoices},
	{schema.TypeMultipleChoice, strings.Replace(offered, `"properties":{`, `"properties":{"minVal":true,"min":2,"limit":2,`, 1), []meaning{
		{`["b","a"]`, `[` + red + `,` + green + `]`}, {`["a"]`, "!TOO_FEW"}, {`"a"`, "!TOO_FEW"}, {`["a","b","c"]`, "!TOO_MANY"},
	}},
	{schema.TypeRanking, offered, []meaning{
		{`["a","b","c"]`, `[` + red + `,` + green + `,` + blue + `]`},
		{`["c","b","a"]`, `[` + blue + `,` + green + `,` + red + `]`},
		{`["b","a","c"]`, `[` + green + `,` + red + `,` + blue + `]`},
		{`["b","c","a"]`, `[` + green + `,` + blue + `,` + red + `]`},
		{`["c","a","b"]`, `[` + blue + `,` + red + `,` + green + `]`},
		{`["a","c","b"]`, `[` + red + `,` + blue + `,` + green + `]`},
		{`[{"id":"c"},{"id":"a"},{"id":"b"}]`, `[` + blue + `,` + red + `,` + green + `]`},
		{`[{"id":"a","label":"old"},"b","c"]`, `[` + red + `,` + green + `,` + blue + `]`},
		{`[{"id":"a","rank":1},{"id":"b","rank":2},{"id":"c","rank":3}]`, `[` + red + `,` + green + `,` + blue + `]`},
		{`[ "c" , "b" , {"id":"a","other":null} ]`, `[` + blue + `,` + green + `,` + red + `]`},
		{`["a","b"]`, "!TOO_FEW"}, {`["a"]`, "!TOO_FEW"}, {`["a","b","b"]`, "!DUPLICATE"}, {`["a","b","c","a"]`, "!DUPLICATE"}, {`["a","b","d"]`, "!NOT_A_CHOICE"},
		{`["Red","Green","Blue"]`, "!NOT_A_CHOICE"}, {`["a","b",{"other":"x"}]`, "!NOT_A_CHOICE"}, {`"a,b,c"`, "!WRONG_TYPE"}, {`{"a":1,"b":2,"c":3}`, "!WRONG_TYPE"},
		{`[1,2,3]`, "!WRONG_TYPE"}, {`["a","b",null]`, "!WRONG_TYPE"},
	}},
	{schema.TypeMatrix, grid, []meaning{
		{`{"r":"x","s":"y"}`, `{"r":{"id":"x","label":"X"},"s":{"id":"y","label":""}}`},
		{`{"s":"y","r":"x"}`, `{"r":{"id":"x","label":"X"},"s":{"id":"y","label":""}}`},
		{`{"r":{"id":"x"}}`, `{"r":{"id":"x","label":"X"}}`},
		{`{"r":{"id":"x","label":"old"},"s":null}`, `{"r":{"id":"x","label":"X"}}`},
		{`{"s":"x","r":""}`, `{"s":{"id":"x","label":"X"}}`},
		{`{"s":"x","r":[]}`, `{"s":{"id":"x","label":"X"}}`},
		{`{"s":"x","r":"\u200b"}`, `{"s":{"id":"x","label":"X"}}`},
		{`{"r":"y"}`, `{"r":{"id":"y","label":""}}`},
		{`{}`, ``}, {`{"r":null,"s":null}`, ``},
		{`{"r":"z"}`, "!NOT_A_CHOICE"}, {`{"t":"x"}`, "!NOT_A_CHOICE"}, {`{"r":"X"}`, "!NOT_A_CHOICE"}, {`{"r":{"other":"x"}}`, "!NOT_A_CHOICE"},
		{`{"r":["x"]}`, "!WRONG_TYPE"}, {`{"r":1}`, "!WRONG_TYPE"}, {`{"r":true}`, "!WRONG_TYPE"}, {`["x","y"]`, "!WRONG_TYPE"}, {`"x"`, "!WRONG_TYPE"},
		{`[{"row":"r","column":"x"}]`, "!WRONG_TYPE"}, {`{"r":"x","r":"y"}`, "!BAD_FORMAT"},
	}},
	{schema.TypeMatrix, grid + `,"properties":{"multiSelection":true}`, []meaning{
		{`{"r":["y","x"]}`, `{"r":[{"id":"x","label":"X"},{"id":"y","label":""}]}`}, {`{"r":"x"}`, `{"r":[{"id":"x","label":"X"}]}`}, {`{"r":["x","x"]}`, "!DUPLICATE"},
	}},
	{schema.TypeMatrix, grid + `,"required":true`, []meaning{{`{"r":"x"}`, "!REQUIRED"}, {`{"r":"x","s":" "}`, "!REQUIRED"}}},
	{schema.TypeDate, ``, []meaning{
		{`"2026-11-20"`, `"2026-11-20"`}, {`" 2026-11-20\n"`, `"2026-11-20"`}, {`"2024-02-29"`, `"2024-02-29"`}, {`"2000-02-29"`, `"2000-02-29"`}, {`"1900-01-01"`, `"1900-01-01"`},
		{`"0001-01-01"`, "!BAD_FORMAT"}, {`"0203-08-05"`, "!BAD_FORMAT"}, {`"1000-01-01"`, `"1000-01-01"`}, {`"9999-12-31"`, `"9999-12-31"`}, {`"2026-01-31"`, `"2026-01-31"`}, {`"2011-12-30"`, `"2011-12-30"`}, {`"\u200e2026-11-20"`, `"2026-11-20"`},
		{`"20.11.2026"`, "!BAD_FORMAT"}, {`"11/20/2026"`, "!BAD_FORMAT"}, {`"2026-02-29"`, "!BAD_FORMAT"}, {`"1900-02-29"`, "!BAD_FORMAT"}, {`"2026-13-01"`, "!BAD_FORMAT"},
		{`"2026-11-31"`, "!BAD_FORMAT"}, {`"2026-1-2"`, "!BAD_FORMAT"}, {`"20261120"`, "!BAD_FORMAT"}, {`"2026-W47-5"`, "!BAD_FORMAT"}, {`"2026-11-20T00:00:00Z"`, "!BAD_FORMAT"},
		{`"today"`, "!BAD_FORMAT"}, {`"0000-01-01"`, "!BAD_FORMAT"}, {`1795132800`, "!WRONG_TYPE"}, {`{"year":2026}`, "!WRONG_TYPE"},
	}},
	{schema.TypeDate, `"properties":{"showTimePicker":true}`, []meaning{
		{`"2026-11-20T08:33:01Z"`, `"2026-11-20T08:33:01Z"`}, {`"2026-11-20T08:33:01.250Z"`, `"2026-11-20T08:33:01Z"`}, {`"2026-11-20T08:33:01+09:00"`, `"2026-11-20T08:33:01+09:00"`},
		{`"2026-11-20T23:59:59-05:00"`, `"2026-11-20T23:59:59-05:00"`}, {`"2026-11-20t08:33:01z"`, `"2026-11-20T08:33:01Z"`}, {`"2026-11-20T08:33:01-00:00"`, `"2026-11-20T08:33:01Z"`},
		{`"2026-11-20T08:33:01+13:45"`, `"2026-11-20T08:33:01+13:45"`},
		{`"2026-11-20T08:33"`, "!BAD_FORMAT"}, {`"2026-11-20T08:33:01"`, "!BAD_FORMAT"}, {`"2026-11-20 08:33:01Z"`, "!BAD_FORMAT"}, {`"2026-11-20"`, "!BAD_FORMAT"},
		{`"2026-11-20T24:00:00Z"`, "!BAD_FORMAT"}, {`"2026-11-20T08:33:01[Europe/Berlin]"`, "!BAD_FORMAT"}, {`"2026-02-30T08:33:01Z"`, "!BAD_FORMAT"}, {`1795132800000`, "!WRONG_TYPE"},
	}},
	{schema.TypeTime, ``, []meaning{
		{`"00:00"`, `"00:00"`}, {`"08:33"`, `"08:33"`}, {`"23:59"`, `"23:59"`}, {`" 08:33 "`, `"08:33"`}, {`"08:33:00"`, `"08:33"`}, {`"12:00"`, `"12:00"`}, {`"12:30"`, `"12:30"`},
		{`"\u200e08:33"`, `"08:33"`}, {`"01:00:00"`, `"01:00"`}, {`"19:05"`, `"19:05"`},
		{`"24:00"`, "!BAD_FORMAT"}, {`"8:33"`, "!BAD_FORMAT"}, {`"08:60"`, "!BAD_FORMAT"}, {`"08:33:30"`, "!BAD_FORMAT"}, {`"8:33 PM"`, "!BAD_FORMAT"}, {`"0833"`, "!BAD_FORMAT"},
		{`"08.33"`, "!BAD_FORMAT"}, {`"08:33Z"`, "!BAD_FORMAT"}, {`"08:33:00.000"`, "!BAD_FORMAT"}, {`"noon"`, "!BAD_FORMAT"}, {`833`, "!WRONG_TYPE"}, {`{"h":8}`, "!WRONG_TYPE"},
	}},
	{schema.TypeTime, `"properties":{"showSeconds":true}`, []meaning{{`"08:33:59"`, `"08:33:59"`}, {`"08:33"`, `"08:33:00"`}, {`"08:33:60"`, "!BAD_FORMAT"}}},
	{schema.TypeFileUpload, ``, append(oneFile, []meaning{
		{`[` + file(`a.png`, `image/png`, `1`) + `]`, `[` + file(`a.png`, `image/png`, `1`) + `]`},
		{file(`a.pdf`, `application/pdf`, `10`), `[` + file(`a.pdf`, `application/pdf`, `10`) + `]`},
		{file(`re\u0301sume\u0301 (1).pdf`, `application/pdf`, `10`), `[` + file(`résumé (1).pdf`, `application/pdf`, `10`) + `]`},
		{file(`.env`, `text/plain; charset=utf-8`, `1`), `[` + file(`.env`, `text/plain; charset=utf-8`, `1`) + `]`},
		{file(`.env`, `text/plain; charset=utf-8`, `0`), "!OUT_OF_RANGE"},
		{file(` IMG_0001.HEIC `, `image/heic`, `2e6`), `[` + file(`IMG_0001.HEIC`, `image/heic`, `2000000`) + `]`},
		{file(`a..b`, `application/octet-stream`, `1.0`), `[` + file(`a..b`, `application/octet-stream`, `1`) + `]`},
		{`[` + file(`a.png`, `image/png`, `1`) + `,` + file(`b.png`, `image/png`, `1`) + `]`, "!TOO_MANY"},
	}...)},
	{schema.TypeFileUpload, `"properties":{"allowedFiles":["pdf","image/*"],"multipleFiles":true,"maxFileSize":true}`, []meaning{
		{`[` + file(`a.pdf`, `application/octet-stream`, `1`) + `,` + file(`b`, `image/heic`, `2`) + `]`, `[` + file(`a.pdf`, `application/octet-stream`, `1`) + `,` + file(`b`, `image/heic`, `2`) + `]`},
		{`[` + file(`a.exe`, `application/x-msdownload`, `1`) + `]`, "!NOT_ALLOWED"},
		{`[` + file(`a.pdf`, `application/pdf`, `10485761`) + `]`, "!OUT_OF_RANGE"},
	}},
	{schema.TypeSignature, ``, append(oneFile, []meaning{
		{file(`s.png`, `image/png`, `1`), file(`s.png`, `image/png`, `1`)},
		{file(`s.svg`, `image/svg+xml`, `9007199254740991`), file(`s.svg`, `image/svg+xml`, `9007199254740991`)},
		{file(`s.jpg`, `IMAGE/JPEG; q=1`, `1`), file(`s.jpg`, `IMAGE/JPEG; q=1`, `1`)},
		{file(`Zoe\u0308.webp`, `image/webp`, `7`), file(`Zoë.webp`, `image/webp`, `7`)},
		{file(`signature`, `image/x-unknown`, `0`), "!OUT_OF_RANGE"},
		{file(`signature`, `image/x-unknown`, `1`), file(`signature`, `image/x-unknown`, `1`)},
		{file(`s.pdf`, `application/pdf`, `1`), "!NOT_ALLOWED"},
		{file(`s.html`, `text/html`, `1`), "!NOT_ALLOWED"},
		{`[` + file(`s.png`, `image/png`, `1`) + `]`, "!WRONG_TYPE"},
	}...)},
	{schema.TypeSignature, `"properties":{"allowedFiles":[".png"]}`, []meaning{
		{file(`s.PNG`, `image/png`, `1`), file(`s.PNG`, `image/png`, `1`)}, {file(`s.jpg`, `image/jpeg`, `1`), "!NOT_ALLOWED"}, {file(`s.png`, `text/html`, `1`), "!NOT_ALLOWED"},
	}},
	{schema.TypeAddress, ``, contacts},
	{schema.TypeContactInfo, ``, contacts},
	{schema.TypeContactInfo, `"properties":{"defaultCountry":"US","addressOrContact":{"lastName":{"required":true},"company":{"hide":true}}}`, []meaning{
		{`{"lastName":"L","phone":"(415) 555-2671"}`, `{"lastName":"L","phone":"+14155552671"}`},
		{`{"firstName":"A"}`, "!REQUIRED"}, {`{"lastName":"\u200b","firstName":"A"}`, "!REQUIRED"}, {`{"lastName":"L","company":"C"}`, "!NOT_ALLOWED"},
	}},
	{schema.TypeCountry, ``, []meaning{
		{`"NL"`, `"NL"`}, {`"nl"`, `"NL"`}, {`" de "`, `"DE"`}, {`"GB"`, `"GB"`}, {`"UK"`, `"GB"`}, {`"USA"`, `"US"`}, {`"XK"`, `"XK"`}, {`"TW"`, `"TW"`}, {`"ax"`, `"AX"`}, {`"DD"`, `"DE"`}, {`"AQ"`, `"AQ"`},
		{`"Netherlands"`, "!BAD_FORMAT"}, {`"ZZ"`, "!BAD_FORMAT"}, {`"EU"`, "!BAD_FORMAT"}, {`"XX"`, "!BAD_FORMAT"}, {`"SU"`, "!BAD_FORMAT"}, {`"UN"`, "!BAD_FORMAT"}, {`"IC"`, "!BAD_FORMAT"},
		{`"001"`, "!BAD_FORMAT"}, {`"+31"`, "!BAD_FORMAT"}, {`"🇳🇱"`, "!BAD_FORMAT"}, {`"N"`, "!BAD_FORMAT"}, {`"\u216b"`, "!BAD_FORMAT"}, {`528`, "!WRONG_TYPE"}, {`{"code":"NL"}`, "!WRONG_TYPE"},
		{`"` + strings.Repeat("N", 65) + `"`, "!TOO_LONG"},
	}},
	{schema.TypePayment, ``, []meaning{
		{pay(`"10.00"`, `EUR`, `paid`), pay(`"10.00"`, `EUR`, `paid`)}, {pay(`10.00`, `EUR`, `paid`), pay(`"10.00"`, `EUR`, `paid`)}, {pay(`"10"`, `eur`, `paid`), pay(`"10"`, `EUR`, `paid`)},
		{pay(`" 0.5 "`, `JPY`, `paid`), pay(`"0.5"`, `JPY`, `paid`)}, {pay(`0`, `USD`, `free`), pay(`"0"`, `USD`, `free`)}, {pay(`"10.00"`, `EUR`, `pending`), pay(`"10.00"`, `EUR`, `pending`)},
		{pay(`"10.00"`, `EUR`, `failed`), pay(`"10.00"`, `EUR`, `failed`)}, {pay(`"999999999999.99"`, `IDR`, `paid`), pay(`"999999999999.99"`, `IDR`, `paid`)},
		{`{"amount":"1","currency":"EUR","status":"paid","gateway":"stripe","reference":"pi_3"}`, `{"amount":"1","currency":"EUR","status":"paid","gateway":"stripe","reference":"pi_3"}`},
		{`{"reference":null,"gateway":"g","status":"paid","currency":"EUR","amount":1}`, pay(`"1"`, `EUR`, `paid`)},
		{pay(`"-1"`, `EUR`, `paid`), "!BAD_FORMAT"}, {pay(`"1,50"`, `EUR`, `paid`), "!BAD_FORMAT"}, {pay(`"1e2"`, `EUR`, `paid`), "!BAD_FORMAT"}, {pay(`1e2`, `EUR`, `paid`), "!BAD_FORMAT"},
		{pay(`"€10"`, `EUR`, `paid`), "!BAD_FORMAT"}, {pay(`"10.00"`, `EURO`, `paid`), "!BAD_FORMAT"}, {pay(`"10.00"`, `€`, `paid`), "!BAD_FORMAT"}, {pay(`true`, `EUR`, `paid`), "!WRONG_TYPE"},
		{pay(`"10.00"`, `EUR`, ``), "!REQUIRED"}, {pay(`null`, `EUR`, `paid`), "!REQUIRED"}, {pay(`"10.00"`, `EUR`, `pa\r\nid`), "!BAD_FORMAT"}, {`"paid"`, "!WRONG_TYPE"}, {`[]`, ``},
		{`{"amount":"1","currency":"EUR","status":"paid","gateway":"g","card":"4111"}`, "!UNKNOWN_FIELD"},
	}},
	{schema.TypePayment, `"required":true,"properties":{"amount":"10.50","currency":"eur","paymentGateway":"g"}`, []meaning{
		{`{"amount":"10.5","status":"paid"}`, pay(`"10.5"`, `EUR`, `paid`)}, {pay(`010.500`, `EUR`, `paid`), "!BAD_FORMAT"}, {pay(`"010.500"`, `EUR`, `paid`), pay(`"010.500"`, `EUR`, `paid`)},
		{pay(`"10.51"`, `EUR`, `paid`), "!NOT_ALLOWED"}, {pay(`"1050"`, `EUR`, `paid`), "!NOT_ALLOWED"}, {pay(`"10.50"`, `USD`, `paid`), "!NOT_ALLOWED"},
		{pay(`"10.50"`, `EUR`, `pending`), "!REQUIRED"}, {pay(`"10.50"`, `EUR`, `Paid`), "!REQUIRED"}, {`null`, "!REQUIRED"},
	}},
	{schema.TypePayment, `"properties":{"amount":"what you like","currency":"?"}`, []meaning{{pay(`"7"`, `CHF`, `open`), pay(`"7"`, `CHF`, `open`)}}},
}

// What form posts send for a check box or a pair of buttons is a helper's business.
var yesOrNo = []meaning{
	{`true`, `true`}, {`false`, `false`}, {`"true"`, `true`}, {`"false"`, `false`}, {` true `, `true`}, {` false`, `false`}, {"true\n", `true`},
	{`null`, ``}, {`""`, ``}, {`[]`, ``},
	{`"yes"`, "!WRONG_TYPE"}, {`"on"`, "!WRONG_TYPE"}, {`"no"`, "!WRONG_TYPE"}, {`"1"`, "!WRONG_TYPE"}, {`1`, "!WRONG_TYPE"}, {`0`, "!WRONG_TYPE"}, {`"TRUE"`, "!WRONG_TYPE"},
	{`"ja"`, "!WRONG_TYPE"}, {`[true]`, "!WRONG_TYPE"}, {`{"value":true}`, "!WRONG_TYPE"}, {`True`, "!BAD_FORMAT"},
}

const (
	offered = `"choices":[{"id":"a","label":"Red"},{"id":"b","label":"Green"},{"id":"c"}],"properties":{"otherOption":true}`
	red     = `{"id":"a","label":"Red"}`
	green   = `{"id":"b","label":"Green"}`
	blue    = `{"id":"c","label":""}`
	grid    = `"matrix_rows":[{"id":"r"},{"id":"s"}],"matrix_columns":[{"id":"x","label":"X"},{"id":"y"}]`
)

var oneChoice = []meaning{
	{`"a"`, red}, {`"b"`, green}, {`"c"`, blue}, {`{"id":"a"}`, red}, {`{"id":"a","label":"Rot"}`, red}, {`{"id":"c","color":"#fff","other":null}`, blue},
	{`{"other":"pink"}`, `{"other":"pink"}`}, {`{"other":"  pi\u0301nk "}`, `{"other":"pínk"}`}, {`{"id":null,"other":"a"}`, `{"other":"a"}`}, {`{"other":"Red"}`, `{"other":"Red"}`},
	{`"Red"`, "!NOT_A_CHOICE"}, {`"A"`, "!NOT_A_CHOICE"}, {`"d"`, "!NOT_A_CHOICE"}, {`" a"`, "!NOT_A_CHOICE"}, {`{"id":"d"}`, "!NOT_A_CHOICE"}, {`{"other":"\u200b"}`, ``},
	{`{"other":"a\nb"}`, "!BAD_FORMAT"}, {`{"other":"a\u202eb"}`, "!BAD_FORMAT"}, {`{"id":"a","other":"x"}`, "!BAD_FORMAT"}, {`{"other":7}`, "!WRONG_TYPE"}, {`0`, "!WRONG_TYPE"}, {`["a"]`, "!WRONG_TYPE"},
	{`{"label":"Red"}`, "!WRONG_TYPE"}, {`{"other":"` + strings.Repeat("x", 10_001) + `"}`, "!TOO_LONG"},
}

var manyChoices = []meaning{
	{`["a"]`, `[` + red + `]`}, {`"a"`, `[` + red + `]`}, {`{"id":"b"}`, `[` + green + `]`}, {`["c","a"]`, `[` + red + `,` + blue + `]`}, {`["a","b","c"]`, `[` + red + `,` + green + `,` + blue + `]`},
	{`[{"id":"c"},"b"]`, `[` + green + `,` + blue + `]`}, {`[{"other":" x "},"a"]`, `[` + red + `,{"other":"x"}]`}, {`{"other":"x"}`, `[{"other":"x"}]`}, {`[{"id":"a","label":"old"}]`, `[` + red + `]`},
	{`[]`, ``}, {`["b", {"id":"a","other":null}]`, `[` + red + `,` + green + `]`},
	{`["a","a"]`, "!DUPLICATE"}, {`["a",{"id":"a"}]`, "!DUPLICATE"}, {`[{"other":"x"},{"other":"y"}]`, "!DUPLICATE"}, {`["d"]`, "!NOT_A_CHOICE"}, {`"a,b"`, "!NOT_A_CHOICE"}, {`["Red"]`, "!NOT_A_CHOICE"},
	{`[["a"]]`, "!WRONG_TYPE"}, {`[null]`, "!WRONG_TYPE"}, {`[1]`, "!WRONG_TYPE"}, {`{"a":true,"b":false}`, "!WRONG_TYPE"}, {`true`, "!WRONG_TYPE"}, {`[{"other":""}]`, ``}, {`["a",{"other":" "}]`, `[` + red + `]`}, {`{"other":""}`, ``},
}

var contacts = []meaning{
	{`{"firstName":" Ada ","lastName":"Lovelace"}`, `{"firstName":"Ada","lastName":"Lovelace"}`},
	{`{"email":"Ada@EXAMPLE.com"}`, `{"email":"Ada@example.com"}`},
	{`{"phone":"+49 30 1234567"}`, `{"phone":"+49301234567"}`},
	{`{"country":"nl","city":"Utrecht"}`, `{"city":"Utrecht","country":"NL"}`},
	{`{"zip":"3511 AA","address":"Oudegracht 1"}`, `{"address":"Oudegracht 1","zip":"3511 AA"}`},
	{`{"state":"NRW","city":"Ko\u0308ln","address2":null}`, `{"city":"Köln","state":"NRW"}`},
	{`{"company":"A & B <Ltd>"}`, `{"company":"A & B <Ltd>"}`},
	{`{"city":"\u200b","zip":""}`, ``}, {`{}`, ``},
	{`{"firstName":"\u0645\u06cc\u200c\u062e"}`, "{\"firstName\":\"می\u200cخ\"}"},
	{`{"firstName":"Ada\r\nBcc: x@example.com"}`, "!BAD_FORMAT"}, {`{"lastName":"a\u202ab"}`, "!BAD_FORMAT"}, {`{"company":"a\u202eb"}`, "!BAD_FORMAT"}, {`{"city":"a\u0007"}`, "!BAD_FORMAT"},
	{`{"email":"ada"}`, "!BAD_FORMAT"}, {`{"email":"a@b.example\r\nTo: c@d.example"}`, "!BAD_FORMAT"}, {`{"phone":"030 1234567"}`, "!BAD_FORMAT"}, {`{"country":"Holland"}`, "!BAD_FORMAT"}, {`{"zip":3511}`, "!WRONG_TYPE"},
	{`{"street":"x"}`, "!UNKNOWN_FIELD"}, {`{"FirstName":"x"}`, "!UNKNOWN_FIELD"}, {`"Utrecht"`, "!WRONG_TYPE"}, {`["Utrecht"]`, "!WRONG_TYPE"},
	{`{"address":"` + strings.Repeat("x", 1001) + `"}`, "!TOO_LONG"},
}

func file(name, mediaType, size string) string {
	return `{"id":"f","name":"` + name + `","url":"https://files.example/f","mime_type":"` + mediaType + `","size":` + size + `}`
}

func pay(amount, currency, status string) string {
	return `{"amount":` + amount + `,"currency":"` + currency + `","status":"` + status + `","gateway":"g"}`
}

// oneFile is refused by every type with files.
var oneFile = []meaning{
	{file(`../a.png`, `image/png`, `1`), "!BAD_FORMAT"}, {file(`C:\\a.png`, `image/png`, `1`), "!BAD_FORMAT"}, {file(`/etc/passwd`, `image/png`, `1`), "!BAD_FORMAT"}, {file(`..`, `image/png`, `1`), "!BAD_FORMAT"},
	{file(`a\r\n.png`, `image/png`, `1`), "!BAD_FORMAT"}, {file(`gpj\u202e.exe`, `image/png`, `1`), "!BAD_FORMAT"}, {file(`a\u0000.png`, `image/png`, `1`), "!BAD_FORMAT"}, {file(`\u200b`, `image/png`, `1`), "!REQUIRED"},
	{file(`a.png`, `png`, `1`), "!BAD_FORMAT"}, {file(`a.png`, ``, `1`), "!REQUIRED"}, {file(`a.png`, `image/png`, `-1`), "!OUT_OF_RANGE"}, {file(`a.png`, `image/png`, `1.5`), "!WRONG_TYPE"}, {file(`a.png`, `image/png`, `"1"`), "!WRONG_TYPE"},
	{strings.Replace(file(`a.png`, `image/png`, `1`), "https:", "javascript:", 1), "!BAD_FORMAT"}, {`"data:image/png;base64,AAAA"`, "!WRONG_TYPE"}, {strings.Replace(file(`a.png`, `image/png`, `1`), `"size"`, `"bytes"`, 1), "!REQUIRED !UNKNOWN_FIELD"},
	{`null`, ``}, {`""`, ``}, {`[]`, ``}, {` null `, ``},
}

func TestMeaning(t *testing.T) {
	accepted, refused := make(map[string]int), make(map[string]int)
	for _, table := range meanings {
		for _, m := range table.answers {
			f := compileOne(t, table.typ, table.members)
			c := answerCase{in: m.in, want: m.out}
			if strings.HasPrefix(m.out, "!") {
				refused[table.typ]++
				_, err := f.Check(inputOne(f, m.in))
				expect.Equal(t, codes(answerFaults(t, err)), m.out, "%s %s answered with %.80s", table.typ, table.members, m.in)
				continue
			}
			accepted[table.typ]++
			checkCases(t, table.typ, table.members, []answerCase{c})
		}
	}
	for _, typ := range answeringTypes {
		if accepted[typ] < 10 || refused[typ] < 10 {
			t.Errorf("%s: %d accepted and %d refused answers, want 10 of each", typ, accepted[typ], refused[typ])
		}
	}
}

// codes turns "/answers/q A, /answers/q/x B" into "!A !B".
func codes(list string) string {
	var found []string
	for fault := range strings.SplitSeq(list, ", ") {
		if _, code, ok := strings.Cut(fault, " "); ok {
			found = append(found, "!"+code)
		}
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " ")
}
