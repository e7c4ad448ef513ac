package summary

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/formsvc/formsvc/internal/filter"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/storage"
)

// BenchmarkFilters counts one submission of nine answers, without and with a filter that selects it.
func BenchmarkFilters(b *testing.B) {
	d := storage.Definition{Blocks: json.RawMessage(`[{"id":"nps","type":"nps"},{"id":"why","type":"long_text"}]`)}
	s := &storage.Submission{SubmittedAt: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Answers: json.RawMessage(`[{"field":{"id":"nps","type":"nps","label":"Would you recommend us?"},"value":5},
		{"field":{"id":"age","type":"number","label":"How old are you?"},"value":18},{"field":{"id":"one","type":"single_choice","label":"Which one?"},"value":{"id":"a","label":"Apple"}},
		{"field":{"id":"yes","type":"yes_no","label":"Have you been here before?"},"value":true},{"field":{"id":"day","type":"date","label":"When was that?"},"value":"2026-01-02"},
		{"field":{"id":"name","type":"short_text","label":"What is your name?"},"value":"Ann Number 1"},{"field":{"id":"mail","type":"email","label":"How do we reach you?"},"value":"ann1@example.com"},
		{"field":{"id":"rate","type":"rating","label":"How was it?"},"value":1},{"field":{"id":"why","type":"long_text","label":"Why?"},"value":"The Délivery was late, but I thank you"}]`)}
	for _, c := range []struct{ name, where, text string }{{"none", "", ""}, {"condition", `{"<":[{"var":"answers.nps"},7]}`, ""}, {"text", "", "delivery"}, {"both", `{"<":[{"var":"answers.nps"},7]}`, "delivery"}} {
		var where json.RawMessage
		if c.where != "" {
			where = json.RawMessage(c.where)
		}
		f := expect.Must(filter.New(d, where, c.text, time.Time{}))
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			t := New(nil, nil, nil)
			for b.Loop() {
				expect.NoError(b, t.AddStored(s, f, time.UTC))
			}
		})
	}
}
