package builder_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/formsvc/formsvc/storage/memory"
)

// BenchmarkSavesAndWarnings is a save of one of 300 blocks with rules, and the warnings that an editor asks for after it.
func BenchmarkSavesAndWarnings(b *testing.B) {
	var blocks []map[string]any
	for i := range 300 {
		id := fmt.Sprintf("q%d", i)
		is := func(n int, value any) map[string]any {
			return map[string]any{"==": []any{map[string]any{"var": fmt.Sprintf("answers.q%d", n)}, value}}
		}
		switch i % 3 {
		case 0:
			blocks = append(blocks, map[string]any{"id": id, "type": "single_choice", "label": id, "choices": []map[string]any{{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}}})
		case 1:
			blocks = append(blocks, map[string]any{"id": id, "type": "number", "label": id, "properties": map[string]any{"rule": map[string]any{"show": is(i-1, "b")}}})
		case 2:
			blocks = append(blocks, map[string]any{"id": id, "type": "short_text", "label": id, "properties": map[string]any{"rule": map[string]any{"show": map[string]any{"and": []any{is(i-2, "b"), is(i-1, 3)}}}}})
		}
	}
	o := newOwners(b, memory.New())
	form := o.publish("Long", blocks)
	path := "/forms/" + form.ID.String()
	n := 0
	save := func() {
		n++
		label, _ := json.Marshal(map[string]string{"label": fmt.Sprint("Text ", n)})
		if _, err := o.client.WorkingCopy(form.ID).UpdateBlock(b.Context(), "q0", label); err != nil {
			b.Fatal(err)
		}
	}
	save()
	b.Run("save", func(b *testing.B) {
		for b.Loop() {
			save()
		}
	})
	b.Run("warnings", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			save()
			b.StartTimer()
			if status, _, body := o.ask("ada", http.MethodGet, path+"/warnings", ""); status != http.StatusOK {
				b.Fatal(status, string(body))
			}
		}
	})
}
