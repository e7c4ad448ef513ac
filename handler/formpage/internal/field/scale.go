package field

import (
	"cmp"
	"strconv"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/pen"
	"github.com/formsvc/formsvc/handler/formpage/internal/plain"
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
		f.Mode, f.Classes = "decimal", " short"
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
		value := plain.Number(from + float64(i)*step)
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
	p.When(f.Low != "" || f.Mid != "" || f.Hi != "", `<div class="ends"><span>%s</span><span>%s</span><span>%s</span></div>`, f.Low, f.Mid, f.Hi)
}

// rateIcon returns the drawing of an icon, a star where there is none with that name.
func rateIcon(name string) string { return cmp.Or(icons[name], icons["star"]) }

// icons are drawn on 24 by 24 units.
var icons = map[string]string{
	"star":        "M12 2.6l2.9 5.9 6.5.9-4.7 4.6 1.1 6.5-5.8-3.1-5.8 3.1 1.1-6.5L2.6 9.4l6.5-.9z",
	"heart":       "M12 20.7C5.3 15.6 2.5 12.3 2.5 8.6A5 5 0 0 1 12 6.6a5 5 0 0 1 9.5 2c0 3.7-2.8 7-9.5 12.1z",
	"circle":      "M12 2.5a9.5 9.5 0 1 0 0 19 9.5 9.5 0 0 0 0-19z",
	"cloud":       "M7 19a5 5 0 0 1-.6-9.96A6 6 0 0 1 17.9 9.6 4.75 4.75 0 0 1 17.5 19z",
	"crown":       "M3 19.5h18V17H3zM2.5 6.5L4 15h16l1.5-8.5-5 3.5L12 3.5 7.5 10z",
	"droplet":     "M12 2.5C8 7.5 5.5 11 5.5 14.5a6.5 6.5 0 0 0 13 0C18.5 11 16 7.5 12 2.5z",
	"flag":        "M5 2.5h1.8V4H20l-3 5 3 5H6.8v7.5H5z",
	"lightbulb":   "M12 2.5a7 7 0 0 0-4 12.7V17h8v-1.8a7 7 0 0 0-4-12.7zM8.5 18.5h7V20h-7zM10 21h4v1h-4z",
	"pencil":      "M3 21l1.2-5L16.5 3.7a1.7 1.7 0 0 1 2.4 0l1.4 1.4a1.7 1.7 0 0 1 0 2.4L8 19.8z",
	"thunderbolt": "M13.5 2L4.5 13.5H11L9.5 22l9.5-12h-6.5z",
	"tick":        "M9.3 19.5L2.5 12.7l2.2-2.2 4.6 4.6L19.3 5l2.2 2.2z",
	"trophy":      "M7 3h10v2h4v3a5 5 0 0 1-4.3 5A5 5 0 0 1 13 15.9V18h4v3H7v-3h4v-2.1A5 5 0 0 1 7.3 13 5 5 0 0 1 3 8V5h4zM5 7v1a3 3 0 0 0 2 2.8V7zm12 3.8A3 3 0 0 0 19 8V7h-2z",
	"up":          "M12 3l8.5 9H15v9H9v-9H3.5z",
	"user":        "M12 2.5a5 5 0 1 0 0 10 5 5 0 0 0 0-10zM3.5 21.5a8.5 7.5 0 0 1 17 0z",
	"skull":       "M12 2.5a8.5 8.5 0 0 0-8.5 8.5c0 3.2 1.7 5.6 4 7V21.5h2.5V19h1v2.5h2V19h1v2.5h2.5V18c2.3-1.4 4-3.8 4-7A8.5 8.5 0 0 0 12 2.5zM8.5 9.5a2 2 0 1 1 0 4 2 2 0 0 1 0-4zm7 0a2 2 0 1 1 0 4 2 2 0 0 1 0-4z",
	"cat":         "M4 2.5l4.2 3.3a11 11 0 0 1 7.6 0L20 2.5v9.7c0 5-3.6 8.8-8 8.8s-8-3.8-8-8.8zm5 8.5a1.2 1.2 0 1 0 0 2.4A1.2 1.2 0 0 0 9 11zm6 0a1.2 1.2 0 1 0 0 2.4A1.2 1.2 0 0 0 15 11zm-3 4.5l-1.3-1h2.6z",
	"dog":         "M6.5 4L2.5 9.5 5 13v3.5C5 19.5 8 21.5 12 21.5s7-2 7-5V13l2.5-3.5L17.5 4 14 6h-4zM9 10.5a1.2 1.2 0 1 1 0 2.4 1.2 1.2 0 0 1 0-2.4zm6 0a1.2 1.2 0 1 1 0 2.4 1.2 1.2 0 0 1 0-2.4zM10 15h4l-2 2z",
}
