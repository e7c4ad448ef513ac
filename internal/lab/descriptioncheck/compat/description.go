package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"
)

// compareDescriptions asks oasdiff what has changed from one description to another.
func compareDescriptions(before, after string) (changes, error) {
	var specs [2]*load.SpecInfo
	var words [2]map[string][]string
	for i, file := range []string{before, after} {
		var err error
		if specs[i], words[i], err = readDescription(file); err != nil {
			return changes{}, err
		}
	}
	difference, sources, err := diff.GetPathsDiff(diff.NewConfig(), specs[:1], specs[1:])
	if err != nil {
		return changes{}, fmt.Errorf("comparing the descriptions: %w", err)
	}
	config := checker.NewConfig(checker.GetAllChecks(), checker.WithSeverityLevels(map[string]checker.Level{
		// AnswerValue takes any object and any list of objects, so a further branch is no further value.
		checker.ResponsePropertyAnyOfAddedId: checker.INFO,
	}))
	var c changes
	for _, change := range checker.CheckBackwardCompatibilityUntilLevel(config, difference, sources, checker.INFO) {
		line := sentence(change)
		if change.GetLevel() == checker.INFO {
			c.additions = append(c.additions, line)
		} else {
			c.breaks = append(c.breaks, line)
		}
	}
	// oasdiff does not look into x-extensible-enum. Words come, and those that came stay.
	for _, place := range slices.Sorted(maps.Keys(words[0])) {
		for _, word := range words[0][place] {
			if !slices.Contains(words[1][place], word) {
				c.breaks = append(c.breaks, fmt.Sprintf("removed the word `%s` of %s", word, place))
			}
		}
	}
	c.sort()
	return c, nil
}

var status = regexp.MustCompile("`(\\d{3}|default)`")

// sentence says a change without the place, so that what changed in all operations is one line.
func sentence(change checker.Change) string {
	line := status.ReplaceAllString(change.GetUncolorizedText(checker.NewDefaultLocalizer()), "`…`")
	if change.GetOperation() != "" && !strings.Contains(line, "`…`") {
		line = change.GetOperation() + " " + change.GetPath() + ": " + line
	}
	return line
}

// readDescription reads a description for oasdiff, and the open words of its components.
func readDescription(file string) (*load.SpecInfo, map[string][]string, error) {
	text, err := os.ReadFile(file) //nolint:gosec // of the caller
	if err != nil {
		return nil, nil, err
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	answerEvents(root)
	if text, err = json.Marshal(root); err != nil {
		return nil, nil, err
	}
	spec, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	words := make(map[string][]string)
	openWords(words, "", root)
	return &load.SpecInfo{Url: file, Spec: spec}, words, nil
}

// answerEvents turns the events, which are requests that the service makes, into answers:
// for their receivers they are read, and oasdiff would take them as sent.
func answerEvents(root map[string]any) {
	paths, _ := root["paths"].(map[string]any)
	events, _ := root["webhooks"].(map[string]any)
	for name, item := range events {
		post := item.(map[string]any)["post"].(map[string]any)
		body := post["requestBody"].(map[string]any)
		paths["/"+name] = map[string]any{"get": map[string]any{"responses": map[string]any{
			"200": map[string]any{"description": name, "content": body["content"]},
		}}}
	}
	delete(root, "webhooks")
}

// openWords collects the words of each x-extensible-enum by its place.
func openWords(into map[string][]string, place string, v any) {
	switch v := v.(type) {
	case map[string]any:
		list, _ := v["x-extensible-enum"].([]any)
		for _, word := range list {
			into[place] = append(into[place], fmt.Sprint(word))
		}
		for name, member := range v {
			openWords(into, place+"/"+name, member)
		}
	case []any:
		for i, item := range v {
			openWords(into, fmt.Sprintf("%s/%d", place, i), item)
		}
	}
}
