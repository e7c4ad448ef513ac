package field

import (
	"cmp"
	_ "embed" // for the drawings
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

func (b *builder) scale(f *Field) {
	p := f.P
	from, to, step, n := formblock.Scale(f.Type, p)
	if p.LeftLabel || f.Type == schema.TypeNPS {
		f.Low = p.FirstLabel
	}
	if p.CenterLabel {
		f.Mid = p.SecondLabel
	}
	if p.RightLabel || f.Type == schema.TypeNPS {
		f.Hi = p.ThirdLabel
	}
	if n == 0 {
		f.control, f.Mode, f.Classes = (*writer).typedScale, decimalMode(from >= 0), " short"
		f.Help = b.Words.Get("help.between", "min", from, "max", to)
		return
	}
	if n > 11 {
		f.Classes += " many"
	} else if n > 7 {
		f.Classes += " n" + strconv.Itoa(n)
	}
	f.control, f.Set, f.Input = (*writer).scale, true, "radio"
	chosen := b.value(f.Name)
	for i := range n {
		value := words.Plain(from + float64(i)*step)
		label := b.inWords(value)
		f.Options = append(f.Options, Option{Name: f.Name, Value: value, Label: label, Chosen: chosen == value})
	}
}

func (p *writer) scale(f *Field) {
	kind := "scale"
	if f.Icon != "" {
		kind = "icons"
	}
	p.Put(`<div class="%i">`, kind)
	for _, o := range pen.Each(p.Pen, f.Options) {
		p.pick("<label>", f.Input, o)
		if f.Icon == "" {
			p.Put("<span>%s</span></label>", o.Label)
		} else {
			p.Put(`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="%i"/></svg><span class="vh">%s</span></label>`,
				f.Icon, p.words.Get("rating", "value", o.Label, "max", len(f.Options)))
		}
	}
	p.Put("</div>")
	p.ends(f)
}

// typedScale writes a scale with too many steps for a button each.
func (p *writer) typedScale(f *Field) {
	p.input(f)
	p.ends(f)
}

func (p *writer) ends(f *Field) {
	p.When(f.Low != "" || f.Mid != "" || f.Hi != "", `<div class="ends"><span>%s</span><span>%s</span><span>%s</span></div>`, f.Low, f.Mid, f.Hi)
}

// drawings are paths on 24 by 24 units, each after its name.
//
//go:embed icons.txt
var drawings string

var icons = func() map[string]string {
	list := map[string]string{}
	for line := range strings.Lines(drawings) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		list[name] = path
	}
	return list
}()

// rateIcon returns the drawing of an icon, a star where there is none with that name.
func rateIcon(name string) string { return cmp.Or(icons[name], icons["star"]) }
