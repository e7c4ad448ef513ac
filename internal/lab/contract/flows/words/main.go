//go:build contract

// What words of answers are in Go when the description has enum in the place of
// x-extensible-enum: types with constants, which a word of a later version fits too.
package main

import (
	"encoding/json"
	"errors"
	"log"

	_ "github.com/oapi-codegen/runtime" // the generated code needs it
)

func main() {
	var e Error
	var field AnswerField
	var d Delivery
	err := errors.Join(json.Unmarshal([]byte(`{"code":"NOT_FOUND"}`), &e), json.Unmarshal([]byte(`{"type":"poem"}`), &field), json.Unmarshal([]byte(`{"error":"timeout"}`), &d))
	if err != nil || e.Code != NOTFOUND || *d.Error != Timeout {
		log.Fatal(e, d, err)
	}
	switch field.Type {
	case AnswerFieldTypeRating, AnswerFieldTypeNps:
		log.Fatal("a poem is rated")
	}
}
