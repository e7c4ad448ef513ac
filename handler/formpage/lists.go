package formpage

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage/internal/field"
	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/schema"
)

const (
	listTimeout = 2 * time.Second // for all lists of a page
	maxSearch   = 200             // bytes of a search text
)

func (c *call) answering() formsvc.Answering {
	a := formsvc.Answering{Answers: c.allAnswers(), Hidden: c.parsed.Hidden, Respondent: c.respondent}
	if c.edit != nil {
		a.Respondent = c.edit.stored.Respondent
	}
	return a
}

// loadLists loads the choices for the blocks on a page whose choices come from the host.
func (c *call) loadLists(blocks []schema.Block) {
	ctx, cancel := context.WithTimeout(c.r.Context(), listTimeout)
	defer cancel()
	c.Lists = map[string]field.List{}
	for b, hidden := range formblock.Walk(blocks) {
		if !hidden && b.ListRef().List != "" {
			c.Lists[b.ID] = c.loadList(ctx, b)
		}
	}
}

func (c *call) loadList(ctx context.Context, b *schema.Block) field.List {
	if c.identityErr != nil { // the list can depend on the respondent
		return field.List{Failed: true}
	}
	text, limit := c.searchText(b), field.MaxListSelect+1
	if text != "" {
		limit = field.MaxListResults
		if !c.h.takeLimiterToken(c.r, "search:") {
			return field.List{Failed: true}
		}
	}
	offered, selected, err := c.Form.Choices(ctx, b.ID, c.answering(), text, limit)
	if err != nil { // the service has logged it
		return field.List{Failed: true}
	}
	if text == "" {
		most := field.MaxListSelect
		if formblock.TakesMultipleChoices(b) {
			most = field.MaxListOptions
		}
		if len(offered) <= most {
			return field.List{Choices: appendMissing(offered, selected)} // a stored choice may no longer be offered
		}
		offered = nil
	}
	return field.List{Search: true, Text: text, Results: len(offered), Choices: appendMissing(selected, offered)}
}

func appendMissing(list, more []schema.Choice) []schema.Choice {
	for _, m := range more {
		if !slices.ContainsFunc(list, func(c schema.Choice) bool { return c.ID == m.ID }) {
			list = append(list, m)
		}
	}
	return list
}

func (c *call) searchText(b *schema.Block) string {
	return trimSearch(c.Values.Get(input.Search + b.ID))
}

func trimSearch(text string) string {
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(len(text), maxSearch)], "")
}

// hasNewSearch reports whether a page has a search text without having shown its results.
func (c *call) hasNewSearch(blocks []schema.Block) bool {
	for b := range formblock.Walk(blocks) {
		if text := c.searchText(b); text != "" && text != c.Values.Get(input.Searched+b.ID) {
			return true
		}
	}
	return false
}

// hostViolations returns the violations in the blocks' answers that only the host can find.
func (c *call) hostViolations(blocks []schema.Block) ([]schema.Violation, error) {
	var ids []string
	for b := range formblock.Walk(blocks) {
		ids = append(ids, b.ID)
	}
	return c.Form.CheckBlocks(c.r.Context(), ids, c.answering())
}

// selectedLabel returns the text of an answer whose choices come from the host.
func (c *call) selectedLabel(block string) (text string, ok bool) {
	b := c.Index.Find(block)
	if b == nil || b.ListRef().List == "" || c.submitted || !c.shown.IsZero() {
		return "", false
	}
	_, selected, err := c.Form.Choices(c.r.Context(), block, c.answering(), "", 0)
	labels := make([]string, len(selected))
	for i, s := range selected {
		labels[i] = s.Label
	}
	return c.Words.JoinList(labels), err == nil && len(labels) > 0
}
