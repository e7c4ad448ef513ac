package answers

import (
	"encoding/json"
	"testing"

	"github.com/formsvc/formsvc/storage"
)

const benchmarkBlocks = `[
	{"id":"name","type":"short_text","label":"Name","required":true},
	{"id":"story","type":"long_text","label":"Story"},
	{"id":"mail","type":"email","label":"Mail","required":true},
	{"id":"age","type":"number","label":"Age","properties":{"min":0,"minVal":true}},
	{"id":"stars","type":"rating","label":"Stars"},
	{"id":"ok","type":"yes_no","label":"Fine?"},
	{"id":"terms","type":"legal","label":"Terms","required":true},
	{"id":"one","type":"single_choice","label":"One","choices":[{"id":"c1","label":"First"},{"id":"c2","label":"Second"}]},
	{"id":"many","type":"multiple_choice","label":"Many","choices":[{"id":"c1","label":"First"},{"id":"c2","label":"Second"},{"id":"c3","label":"Third"}]},
	{"id":"day","type":"date","label":"Day"}]`

const benchmarkAnswers = `{"name":"Ada Example","story":"It was a dark and stormy night; the rain fell in torrents.","mail":"ada@example.com","age":36,"stars":5,
	"ok":true,"terms":true,"one":{"id":"c1"},"many":["c1","c3"],"day":"2026-08-01"}`

func benchmarkInput() Input {
	var answers map[string]json.RawMessage
	if err := json.Unmarshal([]byte(benchmarkAnswers), &answers); err != nil {
		panic(err)
	}
	return Input{Answers: answers, Hidden: map[string]string{"src": "mail"}}
}

func BenchmarkCheckTenAnswers(b *testing.B) {
	f := compileTestForm(b, benchmarkBlocks, "", "")
	in := benchmarkInput()
	b.ReportAllocs()
	for b.Loop() {
		must(f.Check(in))
	}
}

// BenchmarkUnmarshalTenAnswers is what decoding alone costs.
func BenchmarkUnmarshalTenAnswers(b *testing.B) {
	raw := []byte(benchmarkAnswers)
	b.ReportAllocs()
	for b.Loop() {
		var m map[string]any
		noError(b, json.Unmarshal(raw, &m))
	}
}

func BenchmarkCompile(b *testing.B) {
	blocks := json.RawMessage(benchmarkBlocks)
	b.ReportAllocs()
	for b.Loop() {
		must(Compile(Source{Definition: storage.Definition{Blocks: blocks}}))
	}
}
