package formpage

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/read"
	"github.com/formsvc/formsvc/handler/formpage/internal/walk"
	"github.com/formsvc/formsvc/schema"
)

// readAnswers reads the inputs of the page.
func (c *call) readAnswers() {
	typed := c.h.words.ByTag(c.values.Get(input.Language), c.words)
	c.given, c.readings = read.Answers(c.form.Blocks, c.values, read.Manner{Comma: typed.Comma, Zone: c.h.config.Location, Words: typed})
}

// findPath asks the service which blocks are to be shown: the walk is the one that Submit
// makes. Without an answer of the service there is no page: the caller shows that it is out
// of order. The host is asked for its answers first, but not for a preview: an author is not
// a respondent.
//
// The service takes every answer that only the host can give for the host's, so such
// answers of a respondent are left out.
func (c *call) findPath() error {
	if c.h.config.HostAnswers != nil && c.preview == nil {
		answers, err := c.h.config.HostAnswers(c.r, c.form)
		if err != nil {
			return fmt.Errorf("HostAnswers: %w", err)
		}
		c.hosts = answers
	}
	all := maps.Clone(c.given.Answers)
	dropHosts(c.form.Blocks, all)
	maps.Copy(all, c.hostAnswers())
	path, err := c.h.service.Path(c.r.Context(), c.form.ID, all, c.given.Hidden)
	if err == nil {
		c.follow(path)
	}
	return err
}

// follow divides a path into pages.
func (c *call) follow(path schema.Path) {
	c.path, c.steps = path, walk.Steps(&c.form, path)
	c.at = walk.StepAt(&c.form, c.steps, c.values.Get(input.At))
}

// hostAnswers are the files of the page, and what the host answered.
func (c *call) hostAnswers() map[string]json.RawMessage {
	all := c.fileAnswers()
	maps.Copy(all, c.hosts)
	return all
}

// dropHosts removes the answers that only the host can give.
func dropHosts(blocks []schema.Block, answers map[string]json.RawMessage) {
	for b, hidden := range formblock.Walk(blocks) {
		if hidden || formblock.TakesFile(b) || b.Type == schema.TypePayment {
			delete(answers, b.ID)
		}
	}
}
