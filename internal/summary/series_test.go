package summary

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestNumbersAreThoseOfANaiveCount(t *testing.T) {
	within := func(n int) *rapid.Generator[float64] {
		return rapid.Custom(func(t *rapid.T) float64 { return float64(rapid.IntRange(-n, n).Draw(t, "n")) })
	}
	kinds := []*rapid.Generator[float64]{within(12), within(1000), within(1 << 50), rapid.OneOf(within(10), rapid.Float64Range(-1e6, 1e6))}
	rapid.Check(t, func(t *rapid.T) {
		given := rapid.SliceOfN(rapid.SampledFrom(kinds).Draw(t, "kind"), 1, 60).Draw(t, "numbers")
		var n Series
		sum := 0.0
		for _, x := range given {
			n.Add(x)
			sum += x
		}
		slices.Sort(given)
		count := len(given)
		mean, squares := sum/float64(count), 0.0
		for _, x := range given {
			squares += (x - mean) * (x - mean)
		}
		if !n.Exact() || n.Count != int64(count) || n.Min != given[0] || n.Max != given[count-1] || !near(n.Mean(), mean) ||
			!near(n.StdDev(), math.Sqrt(squares/float64(count))) || n.Median() != (given[(count-1)/2]+given[count/2])/2 {
			t.Fatalf("%+v of %v", n, given)
		}
		bins := n.Histogram(20)
		expect.Require(t, len(bins) <= 20, "%d bins", len(bins))
		whole := !slices.ContainsFunc(given, func(x float64) bool { return x != math.Trunc(x) })
		for i, b := range bins {
			want := 0
			for _, x := range given {
				if b.From <= x && x < b.To || x == b.From || (whole || i == len(bins)-1) && x == b.To {
					want++
				}
			}
			if size := bins[0].To - bins[0].From; whole && (b.From != math.Trunc(b.From) || b.To != math.Trunc(b.To) || size > 0 && i > 0 && b.From != bins[i-1].To+1 || i < len(bins)-1 && b.To-b.From != size) {
				t.Fatalf("bin %d is %+v, the first %+v", i, b, bins[0])
			}
			if b.Count != int64(want) || i > 0 && b.From < bins[i-1].To {
				t.Fatalf("bin %d is %+v, want %d of %v", i, b, want, given)
			}
		}
	})
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*max(1, math.Abs(a), math.Abs(b)) }

func TestFiguresAreFinite(t *testing.T) {
	for _, given := range [][]float64{{5, 1e200}, {-1.5e308, 1.5e308}, {-math.MaxFloat64, math.MaxFloat64}, {5e-324, 1e-323}, {math.MaxFloat64}} {
		var n Series
		for i := range 100 {
			n.Add(given[i%len(given)])
		}
		low, high := given[0], given[len(given)-1]
		if want := high/2 - low/2; math.Abs(n.StdDev()-want) > 1e-9*want+1e-320 {
			t.Errorf("%v: the standard deviation is %v, want %v", given, n.StdDev(), want)
		}
		if len(given) > 1 {
			for i := range 24 { // more values than bins
				n.Add(low + float64(i)*(high/50-low/50))
			}
		}
		for _, figure := range []float64{n.Mean(), n.StdDev(), n.Median()} {
			if math.IsNaN(figure) || math.IsInf(figure, 0) {
				t.Errorf("%v: mean %v, standard deviation %v, median %v", given, n.Mean(), n.StdDev(), n.Median())
			}
		}
		before := n.Min
		for _, b := range n.Histogram(20) {
			if b.From < before || b.To < b.From || math.IsInf(b.From, 0) || math.IsInf(b.To, 0) || math.IsNaN(b.From+b.To/2) {
				t.Errorf("%v: the bin %+v", given, b)
			}
			before = b.To
		}
	}
}

// Of more different numbers than are kept, the median is within 1 %.
func TestTheMedianOfManyNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() float64{
		"even":       random.Float64,
		"normal":     random.NormFloat64,
		"skewed":     func() float64 { return math.Exp(10 * random.NormFloat64()) },
		"negative":   func() float64 { return -1e6 * random.ExpFloat64() },
		"enormous":   func() float64 { return math.MaxFloat64 * (random.Float64()*2 - 1) },
		"infinitely": func() float64 { return 1e-300 * random.Float64() },
	} {
		var n Series
		given := make([]float64, 20_001)
		for i := range given {
			given[i] = draw()
			n.Add(given[i])
		}
		slices.Sort(given)
		want, got := given[len(given)/2], n.Median()
		if n.Exact() || math.Abs(want) < largest && math.Abs(got-want) > 0.01*math.Abs(want)+smallest {
			t.Errorf("%s: the median is %v, want %v", name, got, want)
		}
		expect.That(t, n.Min == given[0] && n.Max == given[len(given)-1] && len(n.counts) <= 5600,
			"%s: %v to %v with %d counters", name, n.Min, n.Max, len(n.counts))
		total := int64(0)
		for _, b := range n.Histogram(20) {
			if total += b.Count; math.IsNaN(b.From) || math.IsInf(b.To, 0) || b.From > b.To {
				t.Errorf("%s: the bin %+v", name, b)
			}
		}
		expect.That(t, total == int64(len(given)), "%s: %d in the histogram", name, total)
	}
	var none Series
	expect.That(t, none.Median() == 0 && none.StdDev() == 0 && len(none.Histogram(20)) == 0, "of no numbers something is known")
}
