package color

import "testing"

func TestContrastIsThatOfWCAG(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		ratio float64
	}{{"#000", "#fff", 21}, {"#777777", "#ffffff", 4.48}, {"#767676", "#ffffff", 4.54}, {"#ff0000", "#ffffff", 4.00}} {
		a, _ := Parse(c.a)
		b, _ := Parse(c.b)
		if got := Contrast(a, b); got < c.ratio-0.01 || got > c.ratio+0.01 {
			t.Errorf("%s on %s: %.2f, want %.2f", c.a, c.b, got, c.ratio)
		}
	}
}
