package formpage_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
)

// typedLine is a line of testdata/typed.txt.
type typedLine struct {
	region, tag, kind, part, country, picked, text string

	shown  []string // what the page shows when it comes back
	stored string   // "" for a fault
}

var typedEscape = regexp.MustCompile(`\\u[0-9a-f]{4}`)

func typedLines(t *testing.T) []typedLine {
	t.Helper()
	file := must(os.Open("testdata/typed.txt"))
	defer file.Close()
	var list []typedLine
	for s := bufio.NewScanner(file); s.Scan(); {
		if s.Text() == "" || s.Text()[0] == '#' {
			continue
		}
		column := strings.Split(s.Text(), " | ")
		if len(column) != 5 {
			t.Fatalf("%q has %d columns", s.Text(), len(column))
		}
		l := typedLine{region: column[0], tag: column[1]}
		l.kind, l.country, _ = strings.Cut(column[2], ":")
		l.country, l.picked, _ = strings.Cut(l.country, ">")
		l.kind, l.part, _ = strings.Cut(l.kind, ".")
		l.text = typedEscape.ReplaceAllStringFunc(column[3], func(code string) string {
			n := must(strconv.ParseUint(code[2:], 16, 16))
			return string(rune(n))
		})
		shown, stored, _ := strings.Cut(column[4], "= ")
		if shown, asked := strings.CutPrefix(shown, "? "); asked {
			l.shown = strings.Split(strings.TrimSpace(shown), ", ")
		}
		l.stored = stored
		list = append(list, l)
	}
	return list
}

func (l *typedLine) block() string {
	kind, properties := l.kind, map[string]any{}
	if l.country != "" {
		properties["defaultCountry"] = l.country
	}
	switch l.kind {
	case "contact":
		kind = "contact_info"
	case "dmy", "mdy", "ymd":
		kind = "date"
		properties["dateFormat"] = map[string]string{"dmy": "DDMMYYYY", "mdy": "MMDDYYYY", "ymd": "YYYYMMDD"}[l.kind]
	}
	raw, _ := json.Marshal([]any{map[string]any{"id": "q", "type": kind, "label": "Q", "properties": properties}})
	return string(raw)
}

// typeIn fills in a page as the line says.
func (l *typedLine) typeIn(p *page) {
	switch l.kind {
	case "contact":
		p.fill("p."+l.part+".q", l.text)
		if l.picked != "" {
			p.fill("c.p."+l.part+".q", l.picked)
		}
	case "dmy", "mdy", "ymd":
		for i, text := range strings.Split(l.text, "/") {
			p.fill(l.kind[i:i+1]+".q", text)
		}
	default:
		p.fill("a.q", l.text)
		if l.picked != "" {
			p.fill("c.a.q", l.picked)
		}
	}
}

// readingOf is what the page shows of how an input is read.
func (p *page) readingOf() string {
	var list []string
	p.each(func(n *html.Node) {
		if attr(n, "class") == "fs-read" {
			list = append(list, textOf(n))
		}
	})
	return strings.TrimSpace(strings.NewReplacer("\u2066", "", "\u2069", "").Replace(strings.Join(list, " ")))
}

// Nothing is stored as something else than what was meant without being shown, on a page
// without a script.
func TestWhatPeopleTypeIsStoredAsMeant(t *testing.T) {
	t.Parallel()
	s := newSite(t, formpage.Config{MinFillTime: -1})
	lines, regions, forms := typedLines(t), map[string]bool{}, map[string]formsvc.Form{}
	for _, l := range lines {
		regions[l.region] = true
		definition := l.block()
		if _, there := forms[definition]; !there {
			forms[definition] = s.form("MULTI", definition, "", "")
		}
		form := forms[definition]
		before := len(s.answers(form))
		p := s.openAs(form, l.tag)
		l.typeIn(p)
		next := p.press("next")
		if l.shown != nil {
			said := next.readingOf()
			for _, want := range l.shown {
				if !strings.Contains(said, want) {
					t.Errorf("%+v: the page shows %q", l, said)
				}
			}
			if next.status != http.StatusUnprocessableEntity || len(s.answers(form)) != before {
				t.Errorf("%+v: %d, and %d responses are stored before it is shown", l, next.status, len(s.answers(form))-before)
			}
			next = next.press("next")
		}
		stored := s.answers(form)
		switch {
		case l.stored == "":
			if next.status != http.StatusUnprocessableEntity || !strings.Contains(next.raw, "fs-fault") || len(stored) != before {
				t.Errorf("%+v: %d, want a fault: stored is %v", l, next.status, stored)
			}
		case len(stored) != before+1:
			t.Errorf("%+v: %d %s %s", l, next.status, next.text("summary"), next.readingOf())
		default:
			got, want := stored[0]["q"], l.stored
			if l.part != "" {
				var parts map[string]json.RawMessage
				_ = json.Unmarshal([]byte(got), &parts)
				got = string(parts[l.part])
			}
			var text string
			if json.Unmarshal([]byte(want), &text) == nil {
				raw, _ := json.Marshal(text)
				want = string(raw)
			}
			if got != want {
				t.Errorf("%+v: stored is %s", l, got)
			}
		}
	}
	if len(lines) < 200 || len(regions) < 30 {
		t.Errorf("%d lines of %d countries", len(lines), len(regions))
	}
}

// openAs opens a form as a browser does that is set to a language.
func (s *site) openAs(form formsvc.Form, tag string) *page {
	s.t.Helper()
	r := must(http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.server.URL+"/f/"+form.PublicID, nil))
	r.Header.Set("Accept-Language", tag)
	return s.do(r)
}
