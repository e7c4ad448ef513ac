package filetype

import (
	"slices"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// The types that the page offers and takes are those that the service takes.
func TestTypesOfFiles(t *testing.T) {
	for _, c := range []struct {
		given, want []string
		takes       [][2]string // name and type
		refuses     [][2]string
	}{
		{nil, nil, [][2]string{{"a.exe", "application/octet-stream"}}, [][2]string{{"a.png", "text/html"}}},
		{[]string{" ", ""}, nil, [][2]string{{"a", "text/plain"}}, nil},
		{[]string{"png", "*"}, nil, [][2]string{{"a.exe", "application/octet-stream"}}, nil},
		{
			[]string{"*.PNG", ".pdf", "Md", " image/* ", ".tar.gz"}, []string{".png", ".pdf", ".md", "image/*", ".tar.gz"},
			[][2]string{{"A.PNG", "image/png"}, {"a.pdf", "application/pdf"}, {"a.webp", "image/webp"}, {"x.tar.gz", "application/gzip"}},
			[][2]string{{"a.png", "text/html"}, {"a.pdf", "text/plain"}, {"a.gz", "application/gzip"}, {"pdf", "application/pdf"}, {"a.txt", "text/plain"}},
		},
	} {
		b := schema.Block{Type: schema.TypeFileUpload, Properties: &schema.Properties{AllowedFiles: c.given}}
		if got := answertype.AllowedFileTypes(b.Properties); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.given, got, c.want)
		}
		for _, f := range c.takes {
			expect.That(t, AcceptsFile(&b, f[0], f[1]), "%q does not take %q", c.given, f)
		}
		for _, f := range c.refuses {
			expect.That(t, !AcceptsFile(&b, f[0], f[1]), "%q takes %q", c.given, f)
		}
	}
	sign := schema.Block{Type: schema.TypeSignature}
	expect.That(t, !AcceptsFile(&sign, "a.gif", "image/gif") && AcceptsFile(&sign, "a.png", "image/png"),
		"a signature is a png, jpeg or webp picture")
}

func TestMegabytesAsPeopleAreTold(t *testing.T) {
	for bytes, want := range map[int64]float64{10 << 20: 10, 11<<20 - 1: 10, 1 << 19: 0.5, 300_000: 0.28, 5: 0.01} {
		expect.Equal(t, words.ToMegabytes(bytes), want, "%v", bytes)
	}
}

// A name decides what a file is, as far as its bytes can be that.
func TestFilesAreWhatTheyAreAndWhatTheyAreCalled(t *testing.T) {
	ftyp := func(brand string) string { return "\x00\x00\x00\x18ftyp" + brand + "\x00\x00\x00\x00mp41" + brand }
	for _, c := range []struct{ allowed, name, content, kind string }{
		{"image/svg+xml", "a.svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "image/svg+xml"},
		{"image/svg+xml", "a.svg", `<?xml version="1.0"?><svg/>`, "image/svg+xml"},
		{"image/*", "IMG_1.HEIC", ftyp("heic"), "image/heic"},
		{"image/*", "a.avif", ftyp("avif"), "image/avif"},
		{"image/*", "a.tiff", "II*\x00\x08\x00\x00\x00", "image/tiff"},
		{"video/*", "a.mov", "\x00\x00\x00\x14ftypqt  \x00\x00\x02\x00qt  ", "video/quicktime"},
		{"video/*", "a.mp4", ftyp("mp42"), "video/mp4"},
		{"audio/*", "a.m4a", ftyp("M4A "), "audio/mp4"},
		{"audio/*", "a.mp3", "\xff\xfb\x90\x00aaaa\x00", "audio/mpeg"},
		{"audio/*", "a.mp3", "ID3\x03\x00\x00", "audio/mpeg"},
		{"audio/*", "a.wav", "RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav"},
		{"application/msword", "a.doc", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/msword"},
		{"application/json", "a.json", `{"a":1}`, "application/json"},
		{"text/csv", "a.csv", "MZ,b\n1,2", "text/csv"},
		{".docx", "a.docx", "PK\x03\x04zip", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{".pdf", "a.pdf", "%PDF-1.7", "application/pdf"},
		{".exe", "a.exe", "MZ\x90\x00", "application/x-executable"},
		{".psd", "a.psd", "8BPS\x00\x01", ""},
		{"", "a.gz", "\x1f\x8b\x08", ""},
	} {
		b := schema.Block{Type: schema.TypeFileUpload, Properties: &schema.Properties{AllowedFiles: []string{c.allowed}}}
		kind := Sniff([]byte(c.content), c.name)
		expect.That(t, AcceptsFile(&b, c.name, kind) && (c.kind == "" || kind == c.kind),
			"%q does not take %s, which is %s, want %s", c.allowed, c.name, kind, c.kind)
	}
	for _, c := range []struct{ allowed, name, content string }{
		{".pdf", "a.pdf", "MZ\x90\x00 program"},
		{".pdf", "a.pdf", "\x7fELF\x02\x01"},
		{".pdf", "a.pdf", "<html><script>alert(1)</script>"},
		{".docx", "a.docx", "<html>"},
		{"image/*", "a.heic", "MZ\x90\x00"},
		{"image/*", "a.heic", "<html>"},
		{"image/*", "a.jpg", "%PDF-1.7"},
		{"image/*", "a.exe", ftyp("heic")},
		{"image/*", "a", "MZ\x90\x00"},
		{"audio/*", "a.mp3", "text alone"},
		{"", "a.png", "MZ\x90\x00"},
	} {
		b := schema.Block{Type: schema.TypeFileUpload, Properties: &schema.Properties{AllowedFiles: []string{c.allowed}}}
		if kind := Sniff([]byte(c.content), c.name); AcceptsFile(&b, c.name, kind) {
			t.Errorf("%q takes %s with %q, as %s", c.allowed, c.name, c.content, kind)
		}
	}
}

func TestFileNames(t *testing.T) {
	for name, want := range map[string]string{
		"a.png": "a.png", `C:\x\a.png`: "a.png", "../../a": "a", "\x00\u202egpj.exe": "gpj.exe", "\u202a\u202b\u202c\u202d": "file",
		"pay\u2067fdp.\u2069exe": "payfdp.exe", "\u2066a\u2068.png": "a.png", "שלום.png": "שלום.png", "a\u200db": "a\u200db", "..": "file",
	} {
		expect.Equal(t, CleanName(name), want, "%v", name)
	}
}

// Files that people have: pictures with the extension of another, and content that is harmless
// although it does not begin as the name promises. What can run or show as a page stays out.
func TestFilesThatPeopleHave(t *testing.T) {
	ftyp := func(major string, others ...string) string {
		list := major + "\x00\x00\x00\x00" + strings.Join(others, "")
		return "\x00\x00\x00" + string(rune(8+len(list))) + "ftyp" + list + "\x00\x00\x00\x08mdat"
	}
	const (
		jpeg, png, webp = "\xff\xd8\xff\xe0\x00\x10JFIF", "\x89PNG\r\n\x1a\n0000", "RIFF\x00\x00\x00\x00WEBPVP8 "
		ole             = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
		docx            = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
		xlsx            = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
		page            = "<!DOCTYPE html><script>alert(1)</script>"
		unknown         = "application/octet-stream"
	)
	for _, c := range []struct{ allowed, name, content, kind string }{ // kind "": refused
		// Pictures
		{"image/*", "IMG_1.jpg", ftyp("heic", "mif1", "heic"), "image/heic"},
		{"image/heic,.png", "IMG_1.jpg", ftyp("heic", "mif1"), "image/heic"},
		{".heic", "IMG_1.JPG", ftyp("mif1", "mif1", "heic"), "image/heic"},
		{".jpg", "IMG_1.jpg", ftyp("heic", "mif1"), ""},
		{".jpg", "a.heic", jpeg, "image/jpeg"},
		{".jpeg", "a.png", jpeg, "image/jpeg"},
		{"image/png", "a.png", webp, ""},
		{"image/*", "a.png", webp, "image/webp"},
		{"image/*", "a.jpg", ftyp("avif", "mif1", "miaf"), "image/avif"},
		{"image/*", "a.heif", ftyp("heic", "mif1"), "image/heif"},
		{"image/*", "a.jpg", "II*\x00\x08\x00\x00\x00", "image/tiff"},
		{"", "a.png", jpeg, "image/jpeg"},
		{"image/*", "a.jpg", ftyp("isom", "mp42"), ""},
		{"video/*", "a.mp4", ftyp("isom", "avc1"), "video/mp4"},
		// Extensions and media types with the same meaning
		{"jpg", "a.jpeg", jpeg, "image/jpeg"}, {".JPEG", "a.jpg", jpeg, "image/jpeg"}, {"image/jpg", "a.jpg", jpeg, "image/jpeg"}, {"IMAGE/PJPEG", "a.jpg", jpeg, "image/jpeg"},
		{"image", "a.png", png, "image/png"}, {"jpg, png", "a.png", png, "image/png"}, {"tif", "a.tiff", "MM\x00*", "image/tiff"}, {".htm", "a.html", page, unknown},
		{"mpg", "a.mpeg", "\x00\x00\x01\xba", "video/mpeg"}, {".yaml", "a.yml", "a: 1", "application/yaml"}, {"application/x-zip-compressed", "a.zip", "PK\x03\x04", "application/zip"},
		{"audio/mp3", "a.mp3", "ID3\x03", "audio/mpeg"}, {"application/csv", "a.csv", "a,b", "text/csv"}, {"application/xml", "a.xml", "<?xml version=\"1.0\"?><a/>", "text/xml"},
		{"png", "a.jpg", jpeg, ""}, {".doc", "a.docx", "PK\x03\x04", ""},
		// Content that is harmless
		{".docx", "a.docx", ole, docx}, {".xlsx", "a.xlsx", ole, xlsx}, {"xlsx", "a.xlsx", "name\tage\n", xlsx},
		{".xls", "a.xls", "name\tage\nAnn\t36", "application/vnd.ms-excel"}, {"application/vnd.ms-excel", "a.xls", "<?xml version=\"1.0\"?><Workbook/>", "application/vnd.ms-excel"},
		{".doc", "a.doc", `{\rtf1\ansi}`, "application/msword"}, {".doc", "a.doc", "PK\x03\x04", "application/msword"}, {".rtf", "a.rtf", "plain", "application/rtf"},
		{".pdf", "a.pdf", "\r\n\x00junk\x00%PDF-1.4", "application/pdf"}, {"application/json", "a.json", "\xef\xbb\xbf{}", "application/json"}, {".csv", "a.csv", "\xff\xfea\x00,\x00", "text/csv"},
		{".svg", "a.svg", "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- Generator: Adobe -->\n<svg/>", "image/svg+xml"}, {".svg", "a.svg", "<!-- made -->\n<svg/>", "image/svg+xml"},
		{"", "a.docx", "%PDF-1.7", "application/pdf"}, {".pdf", "a.docx", "%PDF-1.7", "application/pdf"},
		// HTML is content of no type, and no picture
		{"", "a.html", page, unknown}, {".xls", "a.xls", "<table><tr><td>1</table>", unknown}, {"text/markdown", "README.md", "<h1 align=center>Hi</h1>", unknown},
		{".txt", "a.txt", "\xef\xbb\xbf  " + page, unknown}, {".txt", "a.txt", "\xff\xfe<\x00h\x00t\x00m\x00l\x00>\x00", unknown}, {".xml", "a.xml", "<?xml version=\"1.0\"?><html>", unknown},
		{"", "a.xhtml", "<?xml version=\"1.0\"?><!-- x --><html>", unknown}, {"", "a", page, unknown}, {".html", "a.html", "hello <script>", unknown},
		{"", "a.svg", page, ""}, {"", "a.pdf", page, ""}, {"", "a.jpg", "\xef\xbb\xbf" + page, ""}, {"image/*", "a.png", "<!-- --><script>", ""}, {"image/*", "a.png", "<svg/>", ""},
		{".pdf", "a.pdf", "text", ""}, {"image/*", "a.jpg", "MZ\x90\x00", ""}, {"", "a.docx", "\x7fELF\x02", ""}, {"", "a.jpg", "#!/bin/sh", "text/plain"}, {"image/*", "a.jpg", "#!/bin/sh", ""},
	} {
		b := schema.Block{Type: schema.TypeFileUpload, Properties: &schema.Properties{AllowedFiles: []string{c.allowed}}}
		kind := Sniff([]byte(c.content), c.name)
		if fits := AcceptsFile(&b, c.name, kind); fits != (c.kind != "") || fits && kind != c.kind {
			t.Errorf("%q takes %s with %.20q: %v, as %s, want %q", c.allowed, c.name, c.content, fits, kind, c.kind)
		} else if fits && !answertype.AllowedFileTypes(b.Properties).Allows(c.name, kind) {
			t.Errorf("%q: the service does not take %s as %s", c.allowed, c.name, kind)
		}
	}
	if got := answertype.AllowedFileTypes(&schema.Properties{AllowedFiles: []string{"JPG", "image/jpg"}}).AcceptAttribute(); got != ".jfif,.jpe,.jpeg,.jpg,.pjpeg,image/jpeg" {
		t.Errorf("a browser is offered %s", got)
	}
}
