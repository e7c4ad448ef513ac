package answers

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/internal/logic"
)

// A second implementation of the path and of what is stored, written for tests only: it decodes
// everything with encoding/json, knows a few types of blocks, and does the plainest thing each
// time. It shares package logic with the first one, whose cases are compared with json-logic-js.

type (
	naiveForm struct {
		blocks    []map[string]any
		variables map[string]any
		hidden    []string
	}
	// naiveResult is what becomes of a response.
	naiveResult struct {
		path      []string
		ending    string
		stored    map[string]any // by block id or hidden name
		variables map[string]any // those that were set
		faults    map[string]bool
	}
)

func newNaiveForm(blocks, variables, hidden string) naiveForm {
	var f naiveForm
	for raw, into := range map[string]any{blocks: &f.blocks, variables: &f.variables, hidden: &f.hidden} {
		if err := json.Unmarshal([]byte(raw), into); err != nil {
			panic(err)
		}
	}
	var compileChecks func(b map[string]any)
	compileChecks = func(b map[string]any) {
		for _, c := range arr(obj(prop(b, "rule"))["check"]) {
			compileMembers(obj(c), "if")
		}
		for _, child := range arr(b["children"]) {
			compileChecks(obj(child))
		}
	}
	for _, b := range f.blocks {
		compileChecks(b)
		rule := obj(prop(b, "rule"))
		compileMembers(rule, "show", "require")
		set := obj(rule["set"])
		compileMembers(set, slices.Collect(maps.Keys(set))...)
		for _, jump := range arr(rule["next"]) {
			compileMembers(obj(jump), "if")
		}
	}
	return f
}

// compileMembers replaces logic by what it compiles to, a nil *logic.Logic if it cannot be read.
func compileMembers(of map[string]any, names ...string) {
	for _, name := range names {
		if of[name] == nil {
			continue
		}
		tree := expect.Must(jsontree.Parse(expect.Must(json.Marshal(of[name])), answertype.ParseLimits))
		compiled, err := logic.Compile(tree.Root())
		if err != nil {
			compiled = nil
		}
		of[name] = compiled
	}
}

func obj(v any) map[string]any               { o, _ := v.(map[string]any); return o }
func arr(v any) []any                        { a, _ := v.([]any); return a }
func str(v any) string                       { s, _ := v.(string); return s }
func yes(v any) bool                         { b, _ := v.(bool); return b }
func prop(b map[string]any, name string) any { return obj(b["properties"])[name] }

func (f naiveForm) run(answers, hostAnswers map[string]json.RawMessage, hidden map[string]string, now time.Time) naiveResult {
	r := naiveResult{stored: map[string]any{}, variables: map[string]any{}, faults: map[string]bool{}}
	known := map[string]bool{}
	data := map[string]any{"answers": map[string]any{}, "hidden": map[string]any{}, "variables": map[string]any{}}
	for name, v := range f.variables {
		obj(data["variables"])[name] = v
	}
	for _, name := range f.hidden {
		if text := hidden[name]; text != "" {
			obj(data["hidden"])[name] = text
			r.stored[name] = text
		}
	}
	take := func(b map[string]any, raw json.RawMessage, required bool) (valid bool) {
		stored, seen, code := naiveAnswer(b, raw, required)
		if code {
			r.faults[str(b["id"])] = true
			return false
		} else if stored != nil {
			r.stored[str(b["id"])] = stored
			obj(data["answers"])[str(b["id"])] = seen
		} else if required && naiveTakes(b) {
			r.faults[str(b["id"])] = true
			return false
		}
		return true
	}
	budget := logic.NewBudget(math.MaxInt)
	budget.Now = now
	holds := func(l any) (holds, readable bool) {
		compiled, _ := l.(*logic.Logic)
		return compiled != nil && compiled.Holds(data, &budget), compiled != nil
	}
	var offer func(b map[string]any, on, required, hide bool) (valid bool)
	offer = func(b map[string]any, on, required, hide bool) (valid bool) {
		id := str(b["id"])
		known[id] = true
		valid = true
		hide = hide || yes(prop(b, "hide"))
		switch {
		case hide:
			valid = take(b, hostAnswers[id], false)
		case on:
			if raw, given := hostAnswers[id]; given && !naiveBlank(raw) {
				r.faults[id] = true
			}
			valid = take(b, answers[id], required)
		}
		if b["type"] == "group" {
			for _, child := range arr(b["children"]) {
				valid = offer(obj(child), on, yes(obj(child)["required"]), hide) && valid
			}
		}
		if _, answered := obj(data["answers"])[id]; hide || !on || !valid || b["type"] != "group" && !answered {
			return valid
		}
		for _, c := range arr(obj(prop(b, "rule"))["check"]) {
			if fails, _ := holds(obj(c)["if"]); fails && str(obj(c)["say"]) != "" {
				r.faults[id] = true
				delete(obj(data["answers"]), id)
				return false
			}
		}
		return true
	}
	shows := func(b map[string]any) bool {
		if yes(prop(b, "hide")) {
			return false
		}
		show, ok := holds(obj(prop(b, "rule"))["show"])
		return show || !ok
	}
	set := func(b map[string]any) {
		values := map[string]any{}
		for name, l := range obj(obj(prop(b, "rule"))["set"]) {
			compiled, _ := l.(*logic.Logic)
			if _, declared := f.variables[name]; declared && compiled != nil {
				values[name] = compiled.Eval(data, &budget)
			}
		}
		for name, v := range values {
			switch v := v.(type) {
			case float64:
				if math.IsNaN(v) || math.IsInf(v, 0) {
					continue
				}
				if v == 0 {
					v = 0
				}
				obj(data["variables"])[name], r.variables[name] = v, v
			case string:
				if len([]rune(v)) <= 10_000 {
					obj(data["variables"])[name], r.variables[name] = v, v
				}
			}
		}
	}
	ended := false
	next := 0
	for i, b := range f.blocks {
		on := !ended && i >= next && shows(b)
		required := yes(b["required"])
		if on {
			if needed, ok := holds(obj(prop(b, "rule"))["require"]); ok {
				required = needed
			}
		}
		offer(b, on, required, false)
		if !on {
			continue
		}
		r.path = append(r.path, str(b["id"]))
		set(b)
		if b["type"] == "ending" {
			ended, r.ending = true, str(b["id"])
			continue
		}
		for _, item := range arr(obj(prop(b, "rule"))["next"]) {
			to, isText := obj(item)["to"].(string)
			if !isText {
				continue
			}
			target := slices.IndexFunc(f.blocks, func(b map[string]any) bool { return b["id"] == to })
			if to != "end" && target <= i {
				continue
			}
			if condition := obj(item)["if"]; condition != nil {
				if jump, _ := holds(condition); !jump {
					continue
				}
			}
			if to != "end" {
				next = target
				break
			}
			ended = true
			for _, e := range f.blocks {
				if e["type"] == "ending" && shows(e) {
					r.path = append(r.path, str(e["id"]))
					r.ending = str(e["id"])
					set(e)
					break
				}
			}
			break
		}
	}
	for id := range answers {
		if !known[id] {
			r.faults[id] = true
		}
	}
	return r
}

func naiveTakes(b map[string]any) bool {
	switch b["type"] {
	case "group", "statement", "ending", "welcome":
		return false
	}
	return true
}

func naiveBlank(raw json.RawMessage) bool {
	var v any
	if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
		return len(raw) == 0
	}
	return v == nil || v == "" || reflect.DeepEqual(v, []any{})
}

// naiveAnswer returns what is stored of an answer and what rules see of it.
func naiveAnswer(b map[string]any, raw json.RawMessage, required bool) (stored, seen any, faulty bool) {
	if naiveBlank(raw) {
		return nil, nil, false
	}
	if !naiveTakes(b) {
		return nil, nil, true
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, nil, true
	}
	labels := map[string]string{}
	var ids []string
	for _, c := range arr(b["choices"]) {
		labels[str(obj(c)["id"])] = str(obj(c)["label"])
		ids = append(ids, str(obj(c)["id"]))
	}
	pick := func(v any) (stored, seen any, ok bool) {
		if other, is := obj(v)["other"].(string); is && yes(prop(b, "otherOption")) && other != "" {
			return map[string]any{"other": other}, map[string]any{"other": other}, true
		}
		id := str(v)
		if o := obj(v); o != nil {
			id = str(o["id"])
		}
		label, ok := labels[id]
		return map[string]any{"id": id, "label": label}, id, ok
	}
	switch b["type"] {
	case "short_text":
		s, ok := v.(string)
		return s, s, !ok
	case "number":
		n, ok := v.(float64)
		return n, n, !ok
	case "yes_no":
		t, ok := v.(bool)
		return t, t, !ok
	case "legal":
		t, ok := v.(bool)
		return t, t, !ok || required && !t
	case "single_choice":
		stored, seen, ok := pick(v)
		return stored, seen, !ok
	case "multiple_choice":
		if _, isList := v.([]any); !isList {
			v = []any{v}
		}
		at := map[string][2]any{}
		for _, item := range arr(v) {
			stored, seen, ok := pick(item)
			key := fmt.Sprint(seen)
			if o := obj(seen); o != nil {
				key = "other"
			}
			if _, twice := at[key]; !ok || twice {
				return nil, nil, true
			}
			at[key] = [2]any{stored, seen}
		}
		var storedList, seenList []any
		for _, id := range append(ids, "other") {
			if one, ok := at[id]; ok {
				storedList, seenList = append(storedList, one[0]), append(seenList, one[1])
			}
		}
		return storedList, seenList, false
	case "date":
		t, err := time.Parse(time.RFC3339, str(v))
		return str(v), t.UTC().Format("2006-01-02T15:04:05Z"), err != nil
	}
	panic("a type that the naive implementation does not know")
}
