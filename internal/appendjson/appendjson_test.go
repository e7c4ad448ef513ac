package appendjson

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/storage"
)

func TestStringReadsBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{"\u2028x\u2029", "\x00\x1f\"\\\n\r\t", "é\xff日本", "<script>&"}),
		).Draw(t, "s")
		var got string
		if err := json.Unmarshal(String(nil, s), &got); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if want := string([]rune(s)); got != want { // of runes, so that each byte that is none is one U+FFFD
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestStringReplacesEachInvalidByte(t *testing.T) {
	t.Parallel()
	if got, want := string(String(nil, "a\xff\xfeb")), `"a\ufffd\ufffdb"`; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestNumberReadsBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		var got float64
		if err := json.Unmarshal(Number(nil, f), &got); err != nil || got != f {
			t.Fatalf("%v became %s: %v", f, Number(nil, f), err)
		}
	})
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := string(Number(nil, f)); got != "0" {
			t.Errorf("%v became %s, want 0", f, got)
		}
	}
}

func TestTimeAndID(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 9, 33, 1, 999, time.FixedZone("", 3600))
	if got, want := string(Time(nil, at)), `"2026-11-20T08:33:01Z"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := string(ID(nil, storage.ID{0xab, 11: 1})), `"ab0000000000000000000001"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
