package apispec

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MakeStrict returns a copy of a description that forbids additions that later versions may make, so that tests detect
// undescribed content. Every x-extensible-enum becomes an enum, and objects allow only named fields.
func MakeStrict(document []byte) ([]byte, error) {
	var root any
	if err := json.Unmarshal(bytes.ReplaceAll(document, []byte(`"x-extensible-enum"`), []byte(`"enum"`)), &root); err != nil {
		return nil, fmt.Errorf("read API description: %w", err)
	}
	closeObjects(root)
	return json.Marshal(root)
}

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
