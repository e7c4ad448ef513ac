package apispec

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Strict returns a description without its openness for later versions, so that what this
// version answers is held to what this version describes: an x-extensible-enum lists all
// words that there are, and an object has only the members that are named.
func Strict(document []byte) ([]byte, error) {
	var root any
	if err := json.Unmarshal(bytes.ReplaceAll(document, []byte(`"x-extensible-enum"`), []byte(`"enum"`)), &root); err != nil {
		return nil, fmt.Errorf("read API description: %w", err)
	}
	closeObjects(root)
	return json.Marshal(root)
}

// closeObjects refuses other members in each schema of objects that says nothing of them.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, said := v["additionalProperties"]; !said && v["type"] == "object" {
			v["additionalProperties"] = false
		}
		for _, member := range v {
			closeObjects(member)
		}
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	}
}
