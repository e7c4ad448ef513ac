// Package formstep splits the blocks on a form's path into pages. It finds violations in a page's answers, and other
// reasons to show the page again.
package formstep

import (
	"slices"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/schema"
)

// Step is a page of the form: the blocks that are shown together.
type Step struct {
	ID     string // The ID of the block that starts the page.
	Blocks []schema.Block
}

// OneAtATime reports whether each question has its own page.
func OneAtATime(form *formsvc.PublicForm) bool {
	return form.Type == "SINGLE" && !form.Settings.SinglePage
}

// SplitIntoSteps divides the blocks on the path into at least one page, either at page breaks or with one question per
// page.
func SplitIntoSteps(form *formsvc.PublicForm, blocks []schema.Block) []Step {
	var steps []Step
	switch {
	case form.Settings.SinglePage:
		steps = []Step{{Blocks: slices.DeleteFunc(slices.Clone(blocks), isPageBreak)}}
	case OneAtATime(form):
		steps = splitByQuestion(blocks)
	default:
		steps = splitAtBreaks(blocks)
	}
	if len(steps) == 0 {
		steps = []Step{{}}
	}
	for i := range steps {
		if steps[i].ID == "" && len(steps[i].Blocks) > 0 {
			steps[i].ID = steps[i].Blocks[0].ID
		}
	}
	return steps
}

// BlocksOnPath returns the top-level blocks on the path, except endings. It sets Required fields as the path demands.
func BlocksOnPath(form *formsvc.PublicForm, path schema.Path) []schema.Block {
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

func splitAtBreaks(blocks []schema.Block) []Step {
	var steps []Step
	id := "" // The preceding page break's ID.
	for {
		end := slices.IndexFunc(blocks, isPageBreak)
		if end < 0 {
			end = len(blocks)
		}
		if end > 0 {
			steps = append(steps, Step{id, blocks[:end:end]})
		}
		if end == len(blocks) {
			return steps
		}
		id, blocks = blocks[end].ID, blocks[end+1:]
	}
}

func isPageBreak(b schema.Block) bool { return b.Type == schema.TypePageBreak }

// splitByQuestion creates a page for each question, welcome block and statement. Other content is shown above the next
// question, or at the end of the last page. Captchas are added to the preceding page.
func splitByQuestion(blocks []schema.Block) []Step {
	var (
		steps   []Step
		waiting []schema.Block // Content to show with the next question.
	)
	for _, b := range blocks {
		switch {
		case isPageBreak(b):
		case b.Type == schema.TypeCaptcha && len(steps) > 0:
			steps[len(steps)-1].Blocks = append(steps[len(steps)-1].Blocks, b)
		case startsStep(&b):
			steps = append(steps, Step{ID: b.ID, Blocks: append(waiting, b)})
			waiting = nil
		default:
			waiting = append(waiting, b)
		}
	}
	if len(steps) == 0 {
		return []Step{{Blocks: waiting}}
	}
	last := &steps[len(steps)-1]
	last.Blocks = append(last.Blocks, waiting...)
	return steps
}

// startsStep reports whether a block starts a new page if each question has its own page.
func startsStep(b *schema.Block) bool {
	return b.TakesAnswer() || slices.Contains([]string{schema.TypeGroup, schema.TypeWelcome, schema.TypeStatement}, b.Type)
}

// FindStep returns the index of the page with the given ID. If the path lacks this page, it returns the last one before
// it.
func FindStep(form *formsvc.PublicForm, steps []Step, id string) int {
	if at := slices.IndexFunc(steps, func(s Step) bool { return s.ID == id }); at >= 0 {
		return at
	}
	wanted, found := blockIndex(form, id), 0
	for i, s := range steps {
		if blockIndex(form, s.ID) <= wanted {
			found = i
		}
	}
	return found
}

// FindSubmitted is like FindStep for a submitted page, with the IDs of its questions and of the page before it. The form
// may have changed since. If none of these blocks exist now, gone is true, and FindSubmitted returns the index of the
// page after the previous one.
func FindSubmitted(form *formsvc.PublicForm, steps []Step, id string, questions []string, previous string) (at int, gone bool) {
	for _, one := range append([]string{id}, questions...) {
		if one == "" || blockIndex(form, one) >= 0 {
			return FindStep(form, steps, one), false
		}
	}
	if blockIndex(form, previous) < 0 {
		return 0, true
	}
	return min(FindStep(form, steps, previous)+1, len(steps)-1), true
}

func blockIndex(form *formsvc.PublicForm, id string) int {
	return slices.IndexFunc(form.Blocks, func(b schema.Block) bool { return b.ID == id })
}

// LaterBlock returns the ID of whichever of two top-level blocks comes later.
func LaterBlock(form *formsvc.PublicForm, a, b string) string {
	if blockIndex(form, a) > blockIndex(form, b) {
		return a
	}
	return b
}

// ContainsBlock reports whether blocks contain a block, at any level.
func ContainsBlock(blocks []schema.Block, id string) bool {
	return slices.ContainsFunc(blocks, func(b schema.Block) bool { return b.ID == id || ContainsBlock(b.Children, id) })
}

// QuestionIDs returns the IDs of the blocks that need an answer or a solved captcha.
func QuestionIDs(blocks []schema.Block) []string {
	var list []string
	for b := range formblock.Walk(blocks) {
		if b.TakesAnswer() || b.Type == schema.TypeCaptcha {
			list = append(list, b.ID)
		}
	}
	return list
}
