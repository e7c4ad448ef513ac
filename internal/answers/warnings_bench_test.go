package answers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/answers"
	"github.com/formsvc/formsvc/storage"
)

// BenchmarkWarnings is what an editor asks for after each save, of 300 blocks with rules.
func BenchmarkWarnings(b *testing.B) {
	var list []string
	for i := range 300 {
		switch i % 3 {
		case 0:
			list = append(list, fmt.Sprintf(`{"id":"q%d","type":"single_choice","label":"Q %d","choices":[{"id":"a","label":"A"},{"id":"b","label":"B"},{"id":"c","label":"C"}]}`, i, i))
		case 1:
			list = append(list, fmt.Sprintf(`{"id":"q%d","type":"number","label":"Q %d","properties":{"min":0,"minVal":true,"rule":{"show":{"==":[{"var":"answers.q%d"},"b"]}}}}`, i, i, i-1))
		case 2:
			list = append(list, fmt.Sprintf(`{"id":"q%d","type":"short_text","label":"Q %d","properties":{"rule":{"show":{"and":[{"==":[{"var":"answers.q%d"},"b"]},{">":[{"var":"answers.q%d"},3]}]}}}}`, i, i, i-2, i-1))
		}
	}
	from := answers.Source{Definition: storage.Definition{Blocks: []byte("[" + strings.Join(list, ",") + "]")}}
	for b.Loop() {
		if _, err := answers.FindWarnings(from); err != nil {
			b.Fatal(err)
		}
	}
}
