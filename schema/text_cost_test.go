//go:build !race

package schema

import (
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

// Ten times as many marks allocate at most 12 times as many bytes. BenchmarkText measures the time. The race detector
// would drop parsers from their pool at random, and a garbage collection would empty it.
func TestLongTextsAreCheap(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	for name, unit := range manyMarks {
		var allocated [2]uint64
		for i, n := range []int{500, 5000} {
			source := strings.Repeat(unit, n)
			allocated[i] = math.MaxUint64
			for range 10 { // the least, because the first parsers grow
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				text := ParseText(source, Formatting|Insertions)
				_, _, _, _ = text.HTML(nil), text.Plain(), text.PlainWithLinks(), text.Insert(strings.ToUpper)
				runtime.ReadMemStats(&after)
				allocated[i] = min(allocated[i], after.TotalAlloc-before.TotalAlloc)
			}
		}
		expect.That(t, allocated[1] <= 12*allocated[0], "%s: 500 marks allocate %d bytes, and 5,000 allocate %d", name, allocated[0], allocated[1])
	}
}
