package schema_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/formsvc/formsvc/schema"
)

func ExampleDecodeBlocks() {
	blocks, err := schema.DecodeBlocks(json.RawMessage(`[{"id":"who","type":"short_text","label":"Who are you?","required":true}]`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(blocks[0].Label, blocks[0].Required, blocks[0].TakesAnswer())
	// Output: Who are you? true true
}

// Every kind of answer is a Go type.
func ExampleDecodeAnswers() {
	answers, err := schema.DecodeAnswers(json.RawMessage(`[
		{"field":{"id":"when","type":"date","label":"When?"},"value":"2026-11-20"},
		{"field":{"id":"what","type":"multiple_choice","label":"What?"},"value":[{"id":"a","label":"Tea"},{"other":"Cocoa"}]},
		{"field":{"id":"ref","type":"hidden","label":"ref"},"value":"newsletter"}]`))
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range answers {
		switch v := a.Value.(type) {
		case schema.Date:
			fmt.Println(a.ID, v.Time.Weekday())
		case schema.Picks:
			fmt.Println(a.ID, len(v), v[0].ID)
		default:
			fmt.Println(a.ID, v)
		}
	}
	// Output:
	// when Friday
	// what 2 a
	// ref newsletter
}
