package formpage_test

import (
	"encoding/json"
	"os"
	"testing"
)

func readWords(t *testing.T, tag string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("words/" + tag + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var words map[string]string
	if err := json.Unmarshal(raw, &words); err != nil {
		t.Fatal(err)
	}
	return words
}
