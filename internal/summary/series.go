package summary

import (
	"maps"
	"math"
	"slices"

	"github.com/formsvc/formsvc/schema"
)

// A Series counts up to exactValues distinct numbers exactly, which is enough for every usual scale. If there are more,
// it rounds each number to an element of a geometric series. The median is then accurate to within 1 %, and at most
// 5,600 counters are needed. Magnitudes below 1e-9 count as 0, and magnitudes above 1e15 as 1e15.
const (
	exactValues = 1000
	smallest    = 1e-9
	largest     = 1e15
	logStep     = 0.0198 // half a step is 1 %

	largestWhole = 1 << 50 // edges of whole-number bins are exact up to this number
)

// Series describes a stream of numbers with limited memory: count, minimum, maximum, mean, spread, median and
// histogram. All results for finite numbers are finite. The zero value is an empty series.
type Series struct {
	Count    int64
	Min, Max float64

	mean       float64
	halfStdDev float64           // half, because the distance between two numbers can overflow
	counts     map[float64]int64 // how often each number occurs
	rounded    bool              // the numbers in counts are rounded
	fractional bool              // a number is a fraction, or too large for exact whole-number bins
}

// Add adds a finite number.
func (n *Series) Add(x float64) {
	if n.Count == 0 {
		n.Min, n.Max = x, x
	}
	n.Min, n.Max = min(n.Min, x), max(n.Max, x)
	n.Count++
	n.fractional = n.fractional || x != math.Trunc(x) || math.Abs(x) > largestWhole
	// This is Welford's algorithm, but it stores a square root, because the sum of squares can overflow.
	count := float64(n.Count)
	halfDistance := x/2 - n.mean/2
	n.mean += x/count - n.mean/count
	n.halfStdDev = math.Hypot(n.halfStdDev*math.Sqrt((count-1)/count), halfDistance*(math.Sqrt(count-1)/count))

	n.addCount(x, 1)
}

// Merge adds the numbers of another series.
func (n *Series) Merge(other *Series) {
	if other.Count == 0 {
		return
	}
	if n.Count == 0 {
		n.Min, n.Max = other.Min, other.Max
	}
	n.Min, n.Max = min(n.Min, other.Min), max(n.Max, other.Max)
	n.fractional = n.fractional || other.fractional
	own, others := float64(n.Count), float64(other.Count)
	n.Count += other.Count
	all := float64(n.Count)
	// This is the same algorithm as in Add, generalized to several numbers (Chan, Golub and LeVeque).
	halfDistance := other.mean/2 - n.mean/2
	n.mean = n.mean*(own/all) + other.mean*(others/all)
	n.halfStdDev = math.Hypot(math.Hypot(n.halfStdDev*math.Sqrt(own/all), other.halfStdDev*math.Sqrt(others/all)), halfDistance*(math.Sqrt(own/all)*math.Sqrt(others/all)))
	if other.rounded && !n.rounded {
		n.roundAll()
	}
	for x, count := range other.counts {
		n.addCount(x, count)
	}
}

func (n *Series) addCount(x float64, count int64) {
	if n.counts == nil {
		n.counts = map[float64]int64{}
	}
	if n.rounded {
		x = roundToSeries(x)
	}
	n.counts[x] += count
	if len(n.counts) > exactValues && !n.rounded {
		n.roundAll()
	}
}

func (n *Series) roundAll() {
	exact := n.counts
	n.counts, n.rounded = map[float64]int64{}, true
	for x, count := range exact {
		n.counts[roundToSeries(x)] += count
	}
}

func roundToSeries(x float64) float64 {
	size := min(math.Abs(x), largest)
	if size < smallest {
		return 0
	}
	return math.Copysign(math.Exp(math.Round(math.Log(size)/logStep)*logStep), x)
}

// Exact reports whether the median and the histogram are exact.
func (n *Series) Exact() bool { return !n.rounded }

// Mean returns the mean, or 0 for an empty series.
func (n *Series) Mean() float64 { return n.mean }

// StdDev returns the population standard deviation.
func (n *Series) StdDev() float64 {
	return min(2*n.halfStdDev, math.MaxFloat64) // the result can exceed MaxFloat64 because of rounding
}

type counted struct {
	value float64
	count int64
}

func (n *Series) sortedValues() []counted {
	list := make([]counted, 0, len(n.counts))
	for _, x := range slices.Sorted(maps.Keys(n.counts)) {
		list = append(list, counted{max(n.Min, min(n.Max, x)), n.counts[x]})
	}
	return list
}

// Median returns the middle number, or the mean of the two middle numbers.
func (n *Series) Median() float64 {
	list := n.sortedValues()
	return valueAt(list, (n.Count-1)/2)/2 + valueAt(list, n.Count/2)/2 // halves, because the sum can overflow
}

func valueAt(list []counted, place int64) float64 {
	for _, c := range list {
		if place -= c.count; place < 0 {
			return c.value
		}
	}
	return 0
}

// Histogram returns one bin per distinct value, or maxBins bins of equal width if there are more than maxBins values.
// For whole numbers there can be fewer bins, which start and end at whole numbers.
func (n *Series) Histogram(maxBins int) []schema.Bin {
	list := n.sortedValues()
	if len(list) <= maxBins {
		bins := make([]schema.Bin, len(list))
		for i, c := range list {
			bins[i] = schema.Bin{From: c.value, To: c.value, Count: c.count}
		}
		return bins
	}
	var bins []schema.Bin
	if !n.fractional {
		width := math.Ceil((n.Max - n.Min + 1) / float64(maxBins))
		for from := n.Min; from <= n.Max; from += width {
			bins = append(bins, schema.Bin{From: from, To: min(from+width-1, n.Max)})
		}
		return fillBins(bins, list)
	}
	width := n.Max/float64(maxBins) - n.Min/float64(maxBins) // the difference can overflow
	edge := func(i int) float64 {
		if i == maxBins {
			return n.Max
		}
		// Halves, because the distance from the minimum can overflow.
		return max(n.Min, min(n.Max, 2*(n.Min/2+float64(i)*(width/2))))
	}
	for i := range maxBins {
		bins = append(bins, schema.Bin{From: edge(i), To: edge(i + 1)})
	}
	return fillBins(bins, list)
}

func fillBins(bins []schema.Bin, list []counted) []schema.Bin {
	i := 0
	for _, c := range list {
		for i+1 < len(bins) && c.value >= bins[i+1].From {
			i++
		}
		bins[i].Count += c.count
	}
	return bins
}
