package handler

import (
	"github.com/formsvc/formsvc/internal/core"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

func getMetrics(c *call) error {
	q := c.parseQuery()
	period := core.DefaultPeriod
	if given, ok := q.getUnique("period"); ok {
		period = schema.Period(given)
	}
	q.addErrorViolations(core.CheckPeriod(period))
	if err := q.err(); err != nil {
		return err
	}
	m, err := c.h.core.Metrics(c.ctx(), c.actor(), c.pathID("formId"), period)
	if err != nil {
		return err
	}
	return c.sendObject(func(w *jsontree.Writer) {
		w.Name("period").String(string(m.Period))
		w.Name("estimated").Bool(m.Estimated)
		w.Name("views").Int(m.Views)
		w.Name("starts").Int(m.Starts)
		w.Name("submissions").Int(m.Submissions)
		w.Name("completion_rate").Float(m.CompletionRate)
	})
}
