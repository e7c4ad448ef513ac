package formpage

import (
	"slices"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/schema"
)

// step is what is shown at once: a page of the form.
type step struct {
	id     string // of the block that the step is named by
	blocks []schema.Block
}

// formTypeSingle shows one question at a time.
const formTypeSingle = "SINGLE"

// oneAtATime reports whether each question has a page of its own.
func oneAtATime(form *formsvc.PublicForm) bool {
	return form.Type == formTypeSingle && !form.Settings.SinglePage
}

// stepsOf divides the blocks on the path into pages: at page breaks, or one question
// at a time. There is always one step.
func stepsOf(form *formsvc.PublicForm, path schema.Path) []step {
	blocks := onPath(form, path)
	var steps []step
	switch {
	case form.Settings.SinglePage:
		steps = []step{{blocks: slices.DeleteFunc(blocks, func(b schema.Block) bool { return b.Type == schema.TypePageBreak })}}
	case oneAtATime(form):
		steps = singleSteps(blocks)
	default:
		steps = brokenSteps(blocks)
	}
	if len(steps) == 0 {
		steps = []step{{}}
	}
	for i := range steps {
		if steps[i].id == "" && len(steps[i].blocks) > 0 {
			steps[i].id = steps[i].blocks[0].ID
		}
	}
	return steps
}

// onPath returns the top-level blocks on the path but the endings, required as the path
// says.
func onPath(form *formsvc.PublicForm, path schema.Path) []schema.Block {
	required := make(map[string]bool, len(path.Blocks))
	for _, b := range path.Blocks {
		required[b.ID] = b.Required
	}
	blocks := make([]schema.Block, 0, len(path.Blocks))
	for _, b := range form.Blocks {
		var on bool
		if b.Required, on = required[b.ID]; on && b.Type != schema.TypeEnding {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// brokenSteps begins a page at every page break.
func brokenSteps(blocks []schema.Block) []step {
	var steps []step
	current, from := step{}, 0
	for i := range len(blocks) + 1 {
		if i < len(blocks) && blocks[i].Type != schema.TypePageBreak {
			continue
		}
		if current.blocks = blocks[from:i:i]; from < i {
			steps = append(steps, current)
		}
		if i < len(blocks) {
			current, from = step{id: blocks[i].ID}, i+1
		}
	}
	return steps
}

// singleSteps gives each question, welcome and statement a page. Other content is
// shown above the question that follows it; what stands at the end joins the last page,
// and so does a captcha.
func singleSteps(blocks []schema.Block) []step {
	var (
		steps   []step
		waiting []schema.Block // content for the next question
	)
	for _, b := range blocks {
		switch {
		case b.Type == schema.TypePageBreak:
		case b.Type == schema.TypeCaptcha && len(steps) > 0:
			steps[len(steps)-1].blocks = append(steps[len(steps)-1].blocks, b)
		case startsStep(&b):
			steps = append(steps, step{id: b.ID, blocks: append(waiting, b)})
			waiting = nil
		default:
			waiting = append(waiting, b)
		}
	}
	if len(waiting) > 0 {
		if len(steps) == 0 {
			return []step{{blocks: waiting}}
		}
		last := &steps[len(steps)-1]
		last.blocks = append(last.blocks, waiting...)
	}
	return steps
}

// startsStep reports whether a block has a page of its own where one question is asked at
// a time.
func startsStep(b *schema.Block) bool {
	switch b.Type {
	case schema.TypeGroup, schema.TypeWelcome, schema.TypeStatement:
		return true
	}
	return formblock.TakesAnswer(b.Type)
}

// stepAt returns the index of the step with an id. When the path no longer leads there,
// it is the last one before it.
func stepAt(form *formsvc.PublicForm, steps []step, id string) int {
	if at := slices.IndexFunc(steps, func(s step) bool { return s.id == id }); at >= 0 {
		return at
	}
	order := func(id string) int {
		return slices.IndexFunc(form.Blocks, func(b schema.Block) bool { return b.ID == id })
	}
	wanted, found := order(id), 0
	for i, s := range steps {
		if order(s.id) <= wanted {
			found = i
		}
	}
	return found
}

// stepOf returns the index of the step that shows a block, -1 when none does.
func stepOf(steps []step, block string) int {
	return slices.IndexFunc(steps, func(s step) bool { return contains(s.blocks, block) })
}

// contains reports whether a block is among blocks or inside of them.
func contains(blocks []schema.Block, id string) bool {
	return slices.ContainsFunc(blocks, func(b schema.Block) bool { return b.ID == id || contains(b.Children, id) })
}

// ids lists the blocks that are answered on a page.
func ids(blocks []schema.Block) []string {
	var list []string
	for b := range formblock.Walk(blocks) {
		if b.TakesAnswer() {
			list = append(list, b.ID)
		}
	}
	return list
}
