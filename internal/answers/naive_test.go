package answers

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A second implementation of the path, of what is stored and of logic, written for tests
// only: it decodes everything with encoding/json, knows a few types of blocks, and does
// the plainest thing each time. It shares no code with the first one.

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

var (
	naiveLeading = regexp.MustCompile(`^\s*[+-]?(Infinity|\d+\.?\d*|\.\d+)(e[+-]?\d+)?`)
	naiveWhole   = regexp.MustCompile(`^[+-]?(Infinity|\d+\.?\d*|\.\d+)(e[+-]?\d+)?$`)
)

func newNaiveForm(blocks, variables, hidden string) naiveForm {
	var f naiveForm
	for raw, into := range map[string]any{blocks: &f.blocks, variables: &f.variables, hidden: &f.hidden} {
		if err := json.Unmarshal([]byte(raw), into); err != nil {
			panic(err)
		}
	}
	return f
}

func obj(v any) map[string]any               { o, _ := v.(map[string]any); return o }
func arr(v any) []any                        { a, _ := v.([]any); return a }
func str(v any) string                       { s, _ := v.(string); return s }
func yes(v any) bool                         { b, _ := v.(bool); return b }
func prop(b map[string]any, name string) any { return obj(b["properties"])[name] }

func (f naiveForm) run(answers, hostAnswers map[string]json.RawMessage, hidden map[string]string) naiveResult {
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
	take := func(b map[string]any, raw json.RawMessage, required bool) {
		stored, seen, code := naiveAnswer(b, raw, required)
		if code {
			r.faults[str(b["id"])] = true
		} else if stored != nil {
			r.stored[str(b["id"])] = stored
			obj(data["answers"])[str(b["id"])] = seen
		} else if required && naiveTakes(b) {
			r.faults[str(b["id"])] = true
		}
	}
	var offer func(b map[string]any, on, required, hide bool)
	offer = func(b map[string]any, on, required, hide bool) {
		id := str(b["id"])
		known[id] = true
		hide = hide || yes(prop(b, "hide"))
		switch {
		case hide:
			take(b, hostAnswers[id], false)
		case on:
			if raw, given := hostAnswers[id]; given && !naiveBlank(raw) {
				r.faults[id] = true
			}
			take(b, answers[id], required)
		}
		if b["type"] == "group" {
			for _, child := range arr(b["children"]) {
				offer(obj(child), on, yes(obj(child)["required"]), hide)
			}
		}
	}
	holds := func(l any) (holds, readable bool) {
		if l == nil || !naiveReadable(l) {
			return false, false
		}
		return naiveTruth(naiveEval(l, data)), true
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
			if _, declared := f.variables[name]; declared && l != nil && naiveReadable(l) {
				values[name] = naiveEval(l, data)
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

var naiveOperators = strings.Fields("if ?: and or ! !! == === != !== < <= > >= min max + - * / % cat substr in merge var missing missing_some some all none")

// naiveReadable reports whether logic has only operators that exist.
func naiveReadable(l any) bool {
	switch l := l.(type) {
	case []any:
		for _, item := range l {
			if !naiveReadable(item) {
				return false
			}
		}
	case map[string]any:
		if len(l) != 1 {
			return true
		}
		for op, args := range l {
			return slices.Contains(naiveOperators, op) && naiveReadable(args)
		}
	}
	return true
}

func naiveTruth(v any) bool {
	if list, ok := v.([]any); ok {
		return len(list) > 0
	}
	n, isNumber := v.(float64)
	return v != nil && v != false && v != "" && !(isNumber && (n == 0 || math.IsNaN(n)))
}

func naiveEval(l, data any) any {
	if list, ok := l.([]any); ok {
		values := []any{}
		for _, item := range list {
			values = append(values, naiveEval(item, data))
		}
		return values
	}
	o := obj(l)
	if len(o) != 1 {
		return l
	}
	for op, given := range o {
		args, ok := given.([]any)
		if !ok {
			args = []any{given}
		}
		return naiveOperation(op, args, data)
	}
	return nil
}

func naiveOperation(op string, raw []any, data any) any {
	arg := func(i int) any {
		if i < len(raw) {
			return naiveEval(raw[i], data)
		}
		return nil
	}
	switch op {
	case "if", "?:":
		for i := 0; i < len(raw); i += 2 {
			if i == len(raw)-1 {
				return arg(i)
			}
			if naiveTruth(arg(i)) {
				return arg(i + 1)
			}
		}
		return nil
	case "and", "or":
		var v any
		for i := range raw {
			if v = arg(i); naiveTruth(v) == (op == "or") {
				return v
			}
		}
		return v
	case "some", "all", "none":
		items, _ := arg(0).([]any)
		count := 0
		for _, item := range items {
			if len(raw) > 1 && naiveTruth(naiveEval(raw[1], item)) {
				count++
			}
		}
		return map[string]bool{"some": count > 0, "all": count == len(items) && count > 0, "none": count == 0}[op]
	}
	var args []any
	for i := range raw {
		args = append(args, arg(i))
	}
	at := func(i int) any {
		if i < len(args) {
			return args[i]
		}
		return nil
	}
	switch op {
	case "!":
		return !naiveTruth(at(0))
	case "!!":
		return naiveTruth(at(0))
	case "===":
		return reflect.DeepEqual(at(0), at(1))
	case "!==":
		return !reflect.DeepEqual(at(0), at(1))
	case "==":
		return naiveEqual(at(0), at(1))
	case "!=":
		return !naiveEqual(at(0), at(1))
	case "<", "<=":
		if len(args) > 2 {
			return naiveLess(op, at(0), at(1)) && naiveLess(op, at(1), at(2))
		}
		return naiveLess(op, at(0), at(1))
	case ">":
		return naiveLess("<", at(1), at(0))
	case ">=":
		return naiveLess("<=", at(1), at(0))
	case "+", "*":
		if op == "*" && len(args) == 1 {
			if args[0] == nil {
				return 0.0
			}
			return args[0]
		}
		if op == "*" && len(args) == 0 {
			return nil
		}
		result := map[string]float64{"+": 0, "*": 1}[op]
		for _, v := range args {
			n := math.NaN()
			if v == nil {
				n = 0
			} else if found := naiveLeading.FindString(naiveText(v)); found != "" {
				n, _ = strconv.ParseFloat(strings.TrimSpace(found), 64)
			}
			if op == "+" {
				result += n
			} else {
				result *= n
			}
		}
		return result
	case "-":
		if len(args) == 1 {
			return -naiveNumber(args[0])
		}
		return naiveNumber(at(0)) - naiveNumber(at(1))
	case "/":
		return naiveNumber(at(0)) / naiveNumber(at(1))
	case "%":
		return math.Mod(naiveNumber(at(0)), naiveNumber(at(1)))
	case "min", "max":
		result := math.Inf(map[string]int{"min": 1, "max": -1}[op])
		for _, v := range args {
			if op == "min" {
				result = min(result, naiveNumber(v))
			} else {
				result = max(result, naiveNumber(v))
			}
		}
		return result
	case "cat":
		text := ""
		for _, v := range args {
			if v != nil {
				text += naiveText(v)
			}
		}
		return text
	case "substr":
		if at(0) == nil {
			return ""
		}
		runes := []rune(naiveText(at(0)))
		start := int(naiveNumber(at(1)))
		if start < 0 {
			start = max(0, len(runes)+start)
		}
		runes = runes[min(start, len(runes)):]
		if len(args) > 2 {
			length := int(naiveNumber(at(2)))
			if length < 0 {
				length = max(0, len(runes)+length)
			}
			runes = runes[:min(length, len(runes))]
		}
		return string(runes)
	case "in":
		if text, ok := at(1).(string); ok {
			return at(0) != nil && text != "" && strings.Contains(text, naiveText(at(0)))
		}
		return slices.ContainsFunc(arr(at(1)), func(item any) bool { return reflect.DeepEqual(item, at(0)) })
	case "merge":
		merged := []any{}
		for _, v := range args {
			if list, ok := v.([]any); ok {
				merged = append(merged, list...)
			} else {
				merged = append(merged, v)
			}
		}
		return merged
	case "var":
		if v, ok := naiveVar(at(0), data); ok {
			return v
		}
		return at(1)
	case "missing":
		return naiveMissing(args, data)
	case "missing_some":
		keys := arr(at(1))
		missing := naiveMissing(keys, data)
		if float64(len(keys)-len(missing)) >= naiveNumber(at(0)) {
			return []any{}
		}
		return missing
	}
	panic("an operator that the naive implementation does not know: " + op)
}

func naiveVar(path, data any) (any, bool) {
	if path == nil || path == "" {
		return data, true
	}
	rest := naiveText(path)
	if v, ok := obj(data)[rest]; ok {
		return v, true
	}
	if list, ok := data.([]any); ok {
		if rest == "length" {
			return float64(len(list)), true
		}
		if i, err := strconv.Atoi(rest); err == nil && strconv.Itoa(i) == rest && i >= 0 && i < len(list) {
			return list[i], true
		}
	}
	if text, ok := data.(string); ok {
		if rest == "length" {
			return float64(len([]rune(text))), true
		}
		if i, err := strconv.Atoi(rest); err == nil && strconv.Itoa(i) == rest && i >= 0 && i < len([]rune(text)) {
			return string([]rune(text)[i]), true
		}
	}
	parts := strings.SplitN(rest, ".", 2)
	if len(parts) == 1 {
		return nil, false
	}
	inner, ok := naiveVar(parts[0], data)
	if !ok || parts[0] == "" {
		return nil, false
	}
	if parts[1] == "" {
		v, ok := obj(inner)[""]
		return v, ok
	}
	return naiveVar(parts[1], inner)
}

func naiveMissing(keys []any, data any) []any {
	if len(keys) > 0 {
		if list, ok := keys[0].([]any); ok {
			keys = list
		}
	}
	missing := []any{}
	for _, key := range keys {
		if v, _ := naiveVar(key, data); v == nil || v == "" {
			missing = append(missing, key)
		}
	}
	return missing
}

func naiveText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case float64:
		if math.IsInf(v, 0) {
			return strings.TrimPrefix(fmt.Sprint(v), "+") + "inity"
		}
		if v == 0 {
			return "0"
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case []any:
		var items []string
		for _, item := range v {
			if item == nil {
				items = append(items, "")
			} else {
				items = append(items, naiveText(item))
			}
		}
		return strings.Join(items, ",")
	case map[string]any:
		return "[object Object]"
	default:
		return fmt.Sprint(v)
	}
}

func naiveNumber(v any) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case bool:
		if v {
			return 1
		}
		return 0
	case float64:
		return v
	}
	text := strings.TrimSpace(naiveText(v))
	if text == "" {
		return 0
	}
	if !naiveWhole.MatchString(text) {
		return math.NaN()
	}
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

func naiveComposite(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	}
	return false
}

func naiveEqual(a, b any) bool {
	switch {
	case a == nil || b == nil:
		return a == nil && b == nil
	case naiveComposite(a) && naiveComposite(b):
		return reflect.DeepEqual(a, b)
	case naiveComposite(a):
		return naiveEqual(naiveText(a), b)
	case naiveComposite(b):
		return naiveEqual(a, naiveText(b))
	}
	_, aText := a.(string)
	_, bText := b.(string)
	if aText && bText {
		return a == b
	}
	return naiveNumber(a) == naiveNumber(b)
}

func naiveLess(op string, a, b any) bool {
	if a == nil || b == nil {
		return false
	}
	if naiveComposite(a) {
		a = naiveText(a)
	}
	if naiveComposite(b) {
		b = naiveText(b)
	}
	x, aText := a.(string)
	y, bText := b.(string)
	if aText && bText {
		order := slices.Compare([]rune(x), []rune(y))
		return order < 0 || order == 0 && op == "<="
	}
	return naiveNumber(a) < naiveNumber(b) || op == "<=" && naiveNumber(a) == naiveNumber(b)
}
