package field

import (
	"cmp"
	_ "embed" // For the icons.
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

func (b *builder) addScale(f *Field) {
	p := f.Properties
	from, to, step, n := formblock.ScaleRange(f.Type, p)
	if p.LeftLabel || f.Type == schema.TypeNPS {
		f.Low = p.FirstLabel
	}
	if p.CenterLabel {
		f.Mid = p.SecondLabel
	}
	if p.RightLabel || f.Type == schema.TypeNPS {
		f.High = p.ThirdLabel
	}
	if n == 0 {
		f.control, f.Mode, f.Classes = (*writer).writeNumberScale, decimalMode(from >= 0), " short"
		f.Help = b.Words.Get("help.between", "min", from, "max", to)
		return
	}
	if n > 11 {
		f.Classes += " many"
	} else if n > 7 {
		f.Classes += " n" + strconv.Itoa(n)
	}
	f.control, f.Fieldset, f.Input = (*writer).writeScale, true, "radio"
	chosen := b.useValue(f.Name)
	for i := range n {
		value := words.FormatPlain(from + float64(i)*step)
		label := b.formatNumber(value)
		f.Options = append(f.Options, Option{Name: f.Name, Value: value, Label: label, Chosen: chosen == value})
	}
}

func (p *writer) writeScale(f *Field) {
	kind := "scale"
	if f.Icon != "" {
		kind = "icons"
	}
	p.Put(`<div class="%i">`, kind)
	for _, o := range htmlwriter.EachFitting(p.Writer, f.Options) {
		p.writeChoiceInput("<label>", f.Input, o)
		if f.Icon == "" {
			p.Put("<span>%s</span></label>", o.Label)
		} else {
			p.Put(`<svg viewBox="0 0 24 24" aria-hidden="true"><path d="%i"/></svg><span class="vh">%s</span></label>`,
				f.Icon, p.words.Get("rating", "value", o.Label, "max", len(f.Options)))
		}
	}
	p.Put("</div>")
	p.writeScaleLabels(f)
}

// writeNumberScale writes a number input for a scale that has too many steps for buttons.
func (p *writer) writeNumberScale(f *Field) {
	p.writeInput(f)
	p.writeScaleLabels(f)
}

func (p *writer) writeScaleLabels(f *Field) {
	p.PutIf(f.Low != "" || f.Mid != "" || f.High != "", `<div class="ends"><span>%s</span><span>%s</span><span>%s</span></div>`, f.Low, f.Mid, f.High)
}

// iconPaths lists the icons. Each line contains a name and an SVG path on a 24 by 24 grid.
//
//go:embed icons.txt
var iconPaths string

var icons = func() map[string]string {
	list := map[string]string{}
	for line := range strings.Lines(iconPaths) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		list[name] = path
	}
	return list
}()

// iconPath returns an icon's SVG path. Defaults to a star.
func iconPath(name string) string { return cmp.Or(icons[name], icons["star"]) }
