package theme

import (
	"regexp"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestCustomCSSKeepsWhatIsAllowed(t *testing.T) {
	for sheet, want := range map[string]string{
		`.opt { color: #f00; padding: 1px 2em }`:                       `.fs .opt{color:#f00;padding:1px 2em}`,
		`body { background: linear-gradient(90deg, red, #00f 50%) }`:   `.fs{background:linear-gradient(90deg,red,#00f 50%)}`,
		`h1, .q > legend { font-weight: 700 !important }`:              `.fs h1,.fs .q>legend{font-weight:700!important}`,
		`@media (max-width: 40em) { .q { display: grid } }`:            `@media (max-width:40em){.fs .q{display:grid}}`,
		`.a:hover, .b::before { color: red }`:                          `.fs .a:hover{color:red}`,
		`:root .x { width: calc(100% - var(--radius)) }`:               `.fs .x{width:calc(100% - var(--radius))}`,
		`.q { color: red; position: fixed; z-index: 9; top: 0 }`:       `.fs .q{color:red}`,
		`@import "x"; @font-face { src: url(x) } .a { color: red }`:    `.fs .a{color:red}`,
		`.a { color: red } .b { background: url(https://x.example) }`:  `.fs .a{color:red}`,
		`.q { font-family: "Comic Sans MS", serif }`:                   `.fs .q{font-family:"Comic Sans MS",serif}`,
		`@media print { @import "y"; .a { color: red } `:               `@media print{.fs .a{color:red}}`,
		`.opt { transition: opacity .2s cubic-bezier(0.1, 0, 0, 1) }`:  `.fs .opt{transition:opacity .2s cubic-bezier(0.1,0,0,1)}`,
		`/* only a comment */`:                                         ``,
		`.fs-button { letter-spacing: .01em }`:                         `.fs .fs-button{letter-spacing:.01em}`,
		`input[value^="a"] { background: red } [data-b] { color:red }`: ``,
	} {
		got := SanitizeCSS(sheet)
		expect.That(t, strings.ReplaceAll(got, " ", "") == strings.ReplaceAll(want, " ", ""),
			"%s\n got %s\nwant %s", sheet, got, want)
	}
}

// What is written has nothing in it that loads, runs, escapes or leaves the element.
func TestHostileCSS(t *testing.T) {
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
		got := SanitizeCSS(payload)
		expect.That(t, allowed.MatchString(got) && !forbidden.MatchString(got) && strings.Count(got, "{") == strings.Count(got, "}"),
			"%s\n became %s", payload, got)
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
		got := SanitizeCSS(sheet)
		expect.That(t, !forbidden.MatchString(got) && strings.Count(got, "{") == strings.Count(got, "}"),
			"%q became %q", sheet, got)
	})
}

func TestLengthsAndColoursAreWrittenAnew(t *testing.T) {
	for text, want := range map[string]string{
		"10": "10px", "1.5rem": "1.5rem", " 50% ": "50%", "-1px": "", "1e9px": "", "10px;x:y": "", "calc(1px)": "", "": "", "NaN": "", "5vw": "5vw",
	} {
		if got, ok := ParseLength(text); ok != (want != "") || ok && got != want {
			t.Errorf("Length(%q) is %q, %v", text, got, ok)
		}
	}
	for text, want := range map[string]string{
		"#abc": "#aabbcc", "#AABBCC80": "#aabbcc", "rgb(1, 2, 3)": "#010203", "white": "#ffffff", "transparent": "transparent", "url(x)": "", "#xyz": "", "rgb(1,2)": "", "red;x": "", "rgb(1,2,300)": "",
	} {
		if got, ok := ParseColor(text); ok != (want != "") || ok && got != want {
			t.Errorf("Color(%q) is %q, %v", text, got, ok)
		}
	}
	if got := QuoteURL(`https://x/")}</style>\`); strings.ContainsAny(got[1:len(got)-1], `"<>)`) {
		t.Errorf("an address ends its string: %s", got)
	}
	expect.Equal(t, QuoteURL(`https://cdn.example/Büro.png`), `"https://cdn.example/B\fc ro.png"`, "an address beyond ASCII")
}
