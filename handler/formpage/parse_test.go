package formpage

import (
	"regexp"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/handler/formpage/internal/words"
)

// What is written has nothing in it that loads, runs, escapes or leaves the element.
func TestHostileCSS(t *testing.T) {
	t.Parallel()
	payloads := []string{
		`.a{background:url(//x)}`, `.a{background:URL("x")}`, `.a{background:u\72l(x)}`, `.a{background:\75\72\6c(x)}`, `.a{background:image(x)}`,
		`.a{background:image-set("x" 1x)}`, `.a{background:-webkit-image-set(url(x) 1x)}`, `.a{background:cross-fade(url(a),url(b))}`,
		`.a{background:paint(x)}`, `.a{background:element(#x)}`, `.a{cursor:url(x),auto}`, `.a{list-style:url(x)}`, `.a{content:url(x)}`,
		`.a{content:"</style><script>alert(1)</script>"}`, `</style><script>alert(1)</script>`, `.a{color:red}</style><img src=x onerror=alert(1)>`,
		`@import url(x);`, `@import "x";`, `@charset "x"; @import 'x';`, `@namespace url(x);`, `@font-face{font-family:x;src:url(x)}`, `@page{margin:0}`,
		`@supports (display:grid){.a{background:url(x)}}`, `@layer x{.a{color:red}}`, `@keyframes x{from{background:url(x)}}`, `@property --x{syntax:"<url>"}`,
		`@container (width>1px){.a{background:url(x)}}`, `@scope (body){.a{color:red}}`, `@media x{@import "y";}`, `@media (x:url(y)){.a{color:red}}`,
		`.a{position:fixed;inset:0}`, `.a{position:absolute!important}`, `html{position:fixed}`, `.a{z-index:99999}`, `.a{behavior:url(x)}`,
		`.a{-moz-binding:url(x)}`, `.a{width:expression(alert(1))}`, `.a{filter:progid:DXImageTransform()}`, `.a{filter:url(x)}`, `.a{clip-path:url(#x)}`,
		`.a{mask:url(x)}`, `.a{src:url(x)}`, `.a{--x:url(x);background:var(--x)}`, `.a{background:var(--x,url(x))}`, `.a{background:attr(href url)}`,
		`.a{color:red;}}body{background:url(x)}`, `.a{color:red/*`, `.a{color:"\`, `.a{color:red;\`, `.a{"}</style>`, `a[href^="x"]{color:red}`,
		`input[value$="a"]{background:url(x)}`, `.a:has(input[value=x]){color:red}`, `.a:is(body){color:red}`, `:host{color:red}`, `*|*{color:red}`,
		`.a{font:12px url(x)}`, `.a{font-family:"</style>"}`, `.a{font-family:'x\22 ;background:url(x)'}`, `.a{grid-template-areas:"</style>"}`,
		`.a{color:rgb(1,2,3}body{x:y)}`, `.a{color:red}<!--`, `--><script>`, "\x00.a{color:red}", "\ufeff.a{color:red}", `.a{color:re\d}`, `.\3c script{color:red}`,
		`.a{animation:x 1s}`, `.a{animation-name:fs-in}`, `.a{transition:all 1s;color:red}}.b{position:fixed`, `.a + body{color:red}`, `body ~ *{color:red}`, `html + *{color:red}`,
		`.a{background:src("x")}`, `.a{background-image:url(data:image/svg+xml,<svg onload=alert(1)>)}`, `.a{offset-path:url(x)}`, `.a{shape-outside:url(x)}`,
		`.a{@media print{background:url(x)}}`, `.a{&:hover{background:url(x)}}`, `.a{color:red;b{background:url(x)}}`, `.a{contain:none}`, `.fs{contain:none}`, `:root{contain:none;overflow:visible}`,
	}
	allowed := regexp.MustCompile(`^(@media [a-z0-9 ():.,%-]+\{|\}|\.fs[A-Za-z0-9 .,:#>+~*_-]*\{[A-Za-z0-9 .,:;#%()!"/+*_-]*\})*$`)
	forbidden := regexp.MustCompile(`(?i)url|image\(|image-set|src\(|paint\(|element\(|expression|@import|@font|@keyframes|@supports|@layer|position:|z-index|behavior|binding|content:|</|<!|\\|animation|contain|attr\(`)
	for _, payload := range payloads {
		got := customCSS(payload)
		if !allowed.MatchString(got) || forbidden.MatchString(got) || strings.Count(got, "{") != strings.Count(got, "}") {
			t.Errorf("%s\n became %s", payload, got)
		}
		if strings.Contains(got, ".fs +") || strings.Contains(got, ".fs ~") || strings.Contains(got, ".fs+") || strings.Contains(got, ".fs~") {
			t.Errorf("%s\n leaves the form: %s", payload, got)
		}
	}
}

func FuzzCustomCSS(f *testing.F) {
	f.Add(`.a{color:red}`)
	f.Add(`@media print{.a{background:url(x)}}`)
	f.Add(`.a{font-family:"x";b{c:d}}`)
	forbidden := regexp.MustCompile(`(?i)url\(|@import|@font|[{;]position:|\\|<`)
	f.Fuzz(func(t *testing.T, sheet string) {
		got := customCSS(sheet)
		if forbidden.MatchString(got) || strings.Count(got, "{") != strings.Count(got, "}") {
			t.Errorf("%q became %q", sheet, got)
		}
	})
}

func TestLengthsAndColoursAreWrittenAnew(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10": "10px", "1.5rem": "1.5rem", " 50% ": "50%", "-1px": "", "1e9px": "", "10px;x:y": "", "calc(1px)": "", "": "", "NaN": "", "5vw": "5vw",
	} {
		if got, ok := cssLength(text); ok != (want != "") || ok && got != want {
			t.Errorf("cssLength(%q) is %q, %v", text, got, ok)
		}
	}
	for text, want := range map[string]string{
		"#abc": "#aabbcc", "#AABBCC80": "#aabbcc", "rgb(1, 2, 3)": "#010203", "white": "#ffffff", "transparent": "transparent", "url(x)": "", "#xyz": "", "rgb(1,2)": "", "red;x": "", "rgb(1,2,300)": "",
	} {
		if got, ok := cssColor(text); ok != (want != "") || ok && got != want {
			t.Errorf("cssColor(%q) is %q, %v", text, got, ok)
		}
	}
	for text, want := range map[string]string{
		`Inter`: `"Inter",system-ui,sans-serif`, `x";}body{color:red`: `"xbodycolorred",system-ui,sans-serif`, ``: ``, `</style>`: `"style",system-ui,sans-serif`,
	} {
		if got := fontFamily(text); got != want {
			t.Errorf("fontFamily(%q) is %s, want %s", text, got, want)
		}
	}
	if got := cssString(`https://x/")}</style>\`); strings.ContainsAny(got[1:len(got)-1], `"<>)`) {
		t.Errorf("an address ends its string: %s", got)
	}
	if got := cssString(`https://cdn.example/Büro.png`); got != `"https://cdn.example/B\fc ro.png"` {
		t.Errorf("an address beyond ASCII is %s", got)
	}
	for raw, want := range map[string]string{
		"https://bücher.example/x.png": "https://xn--bcher-kva.example", "http://BÜCHER.example:8080/": "http://xn--bcher-kva.example:8080",
		"https://a.example;x/": "", "https://\u2028/": "", "https://Plain.example": "https://plain.example", "https://[::1]:80/": "https://[::1]:80",
	} {
		if got := originOf(raw); got != want {
			t.Errorf("the origin of %s is %q, want %q", raw, got, want)
		}
	}
}

func TestNumbersAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, language, want string }{
		{"1.5", "en", "1.5"}, {"1,234.5", "en", "1234.5"}, {"1,5", "en", "1.5"}, {"1,234", "en", "1234"}, {"1.5", "de", "1.5"}, {"1,5", "de", "1.5"},
		{"1.234", "de", "1234"}, {"1.234,5", "de-AT", "1234.5"}, {"1 234,5", "fr", "1234.5"}, {"1\u202f234", "fr", "1234"}, {"١٢٫٥", "ar", "12.5"},
		{"٣", "ar", "3"}, {"１２", "ja", "12"}, {"-7", "en", "-7"}, {"−7", "en", "-7"}, {"+7", "en", "7"}, {".5", "en", "0.5"}, {"-.5", "en", "-0.5"}, {",5", "de", "0.5"}, {"007", "en", "7"}, {"0", "en", "0"},
		{"5.", "en", "5"}, {"1'000", "de-CH", "1000"}, {"0.10", "en", "0.10"},
		{"", "en", ""}, {"abc", "en", ""}, {"1.2.3", "en", ""}, {"1,2,3", "en", ""}, {"1,23,456", "en", "123456"}, {"1,00,000", "en-IN", "100000"}, {"12,34,567.5", "hi-IN", "1234567.5"}, {"123,45,678", "en-IN", ""}, {"1,00,00", "en-IN", ""}, {"12-3", "en", ""}, {"0x10", "en", ""}, {"1e5", "en", ""}, {"--1", "en", ""}, {"-", "en", ""},
		{"1.234,50", "en", "1234.50"}, {"1,234.50", "de", "1234.50"}, {"1,234,567.5", "de", "1234567.5"}, {"1.234.567", "de", "1234567"}, {"1.234.567", "en", "1234567"}, {"1,234,567", "de", "1234567"}, {"1.234.567,8", "en", "1234567.8"},
		{"1,2.3", "en", ""}, {"1.2,3", "en", ""}, {"1,234,5.6", "de", ""}, {"0,234", "en", "0.234"}, {"0.234", "de", "0.234"}, {"1.234,567.8", "en", ""},
		{".", "en", ""}, {",", "en", ""}, {",", "de", ""}, {"-.", "en", ""}, {"+-5", "en", ""}, {"-0", "en", "-0"},
		{"1,234", "sv", "1.234"}, {"12,345", "ru", "12.345"}, {"1 234,5", "sv", "1234.5"}, {"1,234", "es-MX", "1234"},
		{"1,500", "es-ES", "1.500"}, {"1.500", "es-ES", "1500"}, {"1.500", "es-MX", "1.500"}, {"1.500", "de-CH", "1.500"}, {"1’500", "de-CH", "1500"}, {"1.500", "it-CH", "1.500"}, {"1,500", "fr-CH", "1.500"}, {"1 500,5", "en-ZA", "1500.5"},
		{"１，５００", "ja-JP", "1500"}, {"１．５", "ja", "1.5"}, {"－７", "ja", "-7"}, {"१,००,०००", "hi-IN", "100000"}, {"۱۲٬۳۴۵٫۶", "fa", "12345.6"}, {"\u061c-١", "ar", "-1"}, {"১২", "bn", "12"}, {"\u202a12\u202c", "en", "12"},
		{"5'10", "en", ""}, {"5'10\"", "en", ""}, {"12'345'678.9", "de-CH", "12345678.9"}, {"1'2345", "de-CH", ""}, {"1'234'56", "de-CH", ""},
	} {
		got, _, ok := parseNumber(c.text, words.WritesComma(language.Make(c.language)))
		if ok != (c.want != "") || ok && got != c.want {
			t.Errorf("%q in %s is %q, want %q", c.text, c.language, got, c.want)
		}
	}
}
