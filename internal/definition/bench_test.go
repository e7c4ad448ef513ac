package definition

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// surveyBody is a FormUpdate with 50 blocks of four kinds, about 10 kB.
func surveyBody() []byte {
	var b strings.Builder
	b.WriteString(`{"name":"Customer survey","definition":{"blocks":[`)
	for i := range 50 {
		if i > 0 {
			b.WriteByte(',')
		}
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, `{"id":"q%d","type":"short_text","label":"What is your name, number %d?","description":"As on the card","required":true,"properties":{"maxChars":120,"placeholderText":"Ada Lovelace"}}`, i, i)
		case 1:
			fmt.Fprintf(&b, `{"id":"q%d","type":"single_choice","label":"Which one do you use, %d?","required":false,"properties":{"randomize":true,"otherOption":true},"choices":[{"id":"a","label":"First"},{"id":"b","label":"Second"},{"id":"c","label":"Third"}]}`, i, i)
		case 2:
			fmt.Fprintf(&b, `{"id":"q%d","type":"number","label":"How many people work there, %d?","required":true,"properties":{"min":1,"max":1000,"minVal":true,"maxVal":true}}`, i, i)
		case 3:
			fmt.Fprintf(&b, `{"id":"q%d","type":"date","label":"When did it begin, question %d of the list?","description":"Day of the first order","properties":{"dateSeparator":"/","showDatePicker":true,"disabledDays":65,"afterDate":"2026-01-01T00:00:00+02:00"}}`, i, i)
		}
	}
	b.WriteString(`],"settings":{"progressBar":true,"responseLimit":500,"redirectUrl":"https://example.com/thanks"}}}`)
	return []byte(b.String())
}

// survey is what a service without a schema would decode such a body into.
type survey struct {
	Name       string `json:"name"`
	Definition struct {
		Blocks   []surveyBlock `json:"blocks"`
		Settings struct {
			ProgressBar   bool   `json:"progressBar"`
			ResponseLimit int    `json:"responseLimit"`
			RedirectURL   string `json:"redirectUrl"`
		} `json:"settings"`
	} `json:"definition"`
}

type surveyBlock struct {
	ID          string `json:"id"`
	Type        string `json:"type"`
	Label       string `json:"label"`
	Description string `json:"description"`
	Required    bool   `json:"required"`
	Properties  struct {
		MaxChars        int     `json:"maxChars"`
		PlaceholderText string  `json:"placeholderText"`
		Randomize       bool    `json:"randomize"`
		OtherOption     bool    `json:"otherOption"`
		Min             float64 `json:"min"`
		Max             float64 `json:"max"`
		MinVal          bool    `json:"minVal"`
		MaxVal          bool    `json:"maxVal"`
		DateSeparator   string  `json:"dateSeparator"`
		ShowDatePicker  bool    `json:"showDatePicker"`
		DisabledDays    int     `json:"disabledDays"`
		AfterDate       string  `json:"afterDate"`
	} `json:"properties"`
	Choices []struct {
		ID    string `json:"id"`
		Label string `json:"label"`
	} `json:"choices"`
	Children []surveyBlock `json:"children"`
}

// The whole check of an update is to cost no more than five times
// BenchmarkUnmarshalFormUpdate.
func BenchmarkFormUpdate(b *testing.B) {
	w := must(NewWrites(schema.Limits{}, nil))
	body := surveyBody()
	must(w.FormUpdate(body))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		must(w.FormUpdate(body))
	}
}

func BenchmarkUnmarshalFormUpdate(b *testing.B) {
	body := surveyBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		var s survey
		noError(b, json.Unmarshal(body, &s))
	}
}

func BenchmarkParse(b *testing.B) {
	body := surveyBody()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		tree := must(jsontree.Parse(body, jsontree.BodyBounds))
		tree.Release()
	}
}
