package render

import (
	"net/http"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/formstep"
	"github.com/formsvc/formsvc/handler/formpage/internal/htmlwriter"
	"github.com/formsvc/formsvc/schema"
)

func (p *Page) newCanvasView() (*view, []field.Part) {
	v := p.newView("canvas")
	p.Canvas, p.Single = true, formstep.OneAtATime(p.Form)
	if p.Settings.NumberedQuestions {
		p.Numbered = p.Blocks
	}
	parts := field.RenderCanvas(&p.Source, p.Blocks)
	v.Step, v.First, v.Last, v.Steps = 1, true, true, make([]formstep.Step, 3) // An example, because the real pages depend on the answers.
	v.Progress, v.Navigation = p.Settings.ProgressBar, p.Settings.Navigation
	v.Next = v.nextButtonLabel(formstep.Step{})
	return v, parts
}

// SendCanvas sends a page with all blocks for an editor. Pages whose origin is in ancestors can show it in a frame.
func (p *Page) SendCanvas(w http.ResponseWriter, ancestors []string) error {
	v, parts := p.newCanvasView()
	fields, ends := htmlwriter.New(0), htmlwriter.New(0)
	for i, part := range parts {
		if p.Blocks[i].Type == schema.TypeEnding {
			ends.WriteRaw(part.HTML)
		} else {
			fields.WriteRaw(part.HTML)
		}
	}
	v.Fields, v.Ends = v.inserts.Add(fields.TakeChunks()), v.inserts.Add(ends.TakeChunks())
	v.ancestors = ancestors
	return v.send(w, http.StatusOK)
}

// CanvasParts returns the theme's style, the HTML around the blocks, and the blocks.
func (p *Page) CanvasParts() (style, around string, parts []field.Part, err error) {
	v, parts := p.newCanvasView()
	v.Theme.AllowPictures(v.policy)
	body, err := v.inserts.Execute(templates, "body.html", v)
	if err != nil {
		return "", "", nil, err
	}
	var html, rules strings.Builder
	out := htmlwriter.NewStream(&html)
	out.WriteChunks(body)
	out.Close()
	v.Theme.WriteStyle(func(rule string) { rules.WriteString(rule) })
	return rules.String(), html.String(), parts, nil
}
