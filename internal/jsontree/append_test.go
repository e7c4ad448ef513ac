package jsontree

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/lab/expect"
)

func TestStringReadsBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{"\u2028x\u2029", "\x00\x1f\"\\\n\r\t", "é\xff日本", "<script>&"}),
		).Draw(t, "s")
		var got string
		err := json.Unmarshal(AppendString(nil, s), &got)
		expect.Require(t, err == nil, "%q: %v", s, err)
		if want := string([]rune(s)); got != want { // of runes, so that each byte that is none is one U+FFFD
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestStringReplacesEachInvalidByte(t *testing.T) {
	if got, want := string(AppendString(nil, "a\xff\xfeb")), `"a\ufffd\ufffdb"`; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
}

func TestNumberReadsBackAsItWas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		var got float64
		if err := json.Unmarshal(AppendFloat(nil, f), &got); err != nil || got != f {
			t.Fatalf("%v became %s: %v", f, AppendFloat(nil, f), err)
		}
	})
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		expect.Equal(t, string(AppendFloat(nil, f)), "0", "%v as text", f)
	}
}

func TestAppendTime(t *testing.T) {
	at := time.Date(2026, 11, 20, 9, 33, 1, 999, time.FixedZone("", 3600))
	if got, want := string(AppendTime(nil, at)), `"2026-11-20T08:33:01Z"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWriterSetsCommasAndEscapes(t *testing.T) {
	w := NewWriter(nil)
	w.Object()
	w.Name("a").Array()
	w.Int(-1)
	w.String("x\"[")
	w.Bool(true)
	w.Array()
	w.EndArray()
	w.Object()
	w.EndObject()
	w.Null()
	w.EndArray()
	w.Name("b\n").Object()
	w.Name("c").Hex([]byte{0xab, 1})
	w.Name("d").Raw([]byte(`[1]`))
	w.Name("e").Float(0.5)
	w.EndObject()
	w.Name("f{").Time(time.Unix(0, 0))
	w.EndObject()
	w.RawString("7")
	want := `{"a":[-1,"x\"[",true,[],{},null],"b\n":{"c":"ab01","d":[1],"e":0.5},"f{":"1970-01-01T00:00:00Z"},7`
	got := string(w.Bytes())
	expect.That(t, got == want, "got  %s\nwant %s", got, want)
}

func TestWriterGoesOnAfterAFlush(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(nil)
	flush := func() {
		expect.NoError(t, w.Flush(&out))
	}
	flush()
	w.Array()
	flush()
	for i := range 3 {
		w.Int(int64(i))
		flush()
		flush()
	}
	w.Object()
	w.Name("a")
	flush()
	w.Null()
	w.EndObject()
	w.EndArray()
	w.LineBreak()
	flush()
	if got, want := out.String(), "[0,1,2,{\"a\":null}]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
