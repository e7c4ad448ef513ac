package answertype

import "testing"

// The common form of a text means the same as the text.
func FuzzFolded(f *testing.F) {
	for _, text := range []string{"Ann", "\u00df\u0345\u03b1", "\u0130\u0131", "\ufb03 \u1e9e", "\u2126\u212b", "\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := foldText(text)
		if twice := foldText(once); twice != once {
			t.Errorf("%+q becomes %+q, and that %+q", text, once, twice)
		}
	})
}
