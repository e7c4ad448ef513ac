package answers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Form is a form made ready for checking answers. It is immutable: safe for
// concurrent use and fit to be kept for as long as the definition's revision
// lasts.
type Form struct {
	blocks []compiledBlock // depth first, in definition order
	steps  []step          // the top-level blocks
	hidden []compiledHidden
	unique int // index in blocks of settings.duplicateField, -1: none
	limit  int // bytes of the answers of one response

	variables []compiledVariable
	// ruled: a step has a rule. Without one, nothing looks into these by name.
	ruled         bool
	index         map[string]int // in blocks
	variableIndex map[string]int // in variables
	hiddenNames   map[string]bool

	headSize int // mean bytes that an answer costs beside its value
}

// compiledBlock is a block as far as its answer is concerned. What the answer's
// items begin with is encoded once, here.
type compiledBlock struct {
	id, typ  string
	path     string // where its answer stands in an Input
	shape    shape  // of the answer, to rules
	host     bool   // the answer comes from the host
	hide     bool   // off every path: only the host may answer
	dropped  bool   // an answer is accepted and not stored
	required bool
	rule     rule   // nil: takes no answer
	head     []byte // {"field":{…},"value":
	key      []byte // "id":
}

// compiledHidden is a hidden field.
type compiledHidden struct {
	name string
	head []byte
	key  []byte
}

// compiledVariable is a variable of the definition.
type compiledVariable struct {
	name    string
	initial any    // float64 or string
	head    []byte // of an item, when a rule sets the variable
	key     []byte
}

// Source is what a form is compiled from.
type Source struct {
	// The sections of a stored definition. nil is an empty one.
	Blocks, Settings, Variables, HiddenFields json.RawMessage
	// Limits are the service's. FileSize and Response are used; zero means their
	// defaults.
	Limits schema.Limits
	// TimeZone is the service's, for the days of date bounds. nil is UTC.
	TimeZone *time.Location
}

// Compile makes a form ready for checking. The children of a group count like
// top-level blocks. A block of an unknown type takes no answer. An error means that
// a section is not what is stored.
//
// A form takes about ten times the bytes of its sections, rules included. The bounds of a
// definition, 100,000 values in its blocks and 4 MiB in all, keep it below 24 MB.
func Compile(from Source) (*Form, error) {
	d, err := read(from)
	if err != nil {
		return nil, err
	}
	d.addRules(watch{})
	return d.Form, nil
}

// definition is what a form is compiled from, decoded.
type definition struct {
	Form     *Form          // without rules until addRules has run
	Blocks   []schema.Block // each has properties
	Settings schema.Settings
}

// read compiles everything but the rules.
func read(from Source) (d definition, err error) {
	if d.Blocks, err = schema.DecodeBlocks(from.Blocks); err != nil {
		return d, err
	}
	complete(d.Blocks)
	if d.Settings, err = schema.DecodeSettings(from.Settings); err != nil {
		return d, err
	}
	var names []string
	if len(from.HiddenFields) > 0 {
		if err := json.Unmarshal(from.HiddenFields, &names); err != nil {
			return d, fmt.Errorf("decode stored hidden fields: %w", err)
		}
	}
	limits := from.Limits.WithDefaults()
	f := &Form{unique: -1, limit: limits.Response}
	d.Form = f
	if err := f.addVariables(from.Variables); err != nil {
		return d, err
	}
	with := service{fileSize: limits.FileSize, timeZone: cmp.Or(from.TimeZone, time.UTC)}
	seen := make(map[string]bool)
	for i := range d.Blocks {
		s := step{from: len(f.blocks), ending: d.Blocks[i].Type == schema.TypeEnding}
		f.addBlocks(d.Blocks[i:i+1], with, seen, false)
		if s.to = len(f.blocks); s.to > s.from {
			f.steps = append(f.steps, s)
		}
	}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		f.hidden = append(f.hidden, compiledHidden{
			name: name,
			head: answerHead(name, schema.TypeHidden, name),
			key:  answerKey(name),
		})
	}
	if id := d.Settings.DuplicateField; id != "" {
		f.unique = slices.IndexFunc(f.blocks, func(b compiledBlock) bool { return b.id == id })
	}
	for i := range f.blocks {
		f.headSize += len(f.blocks[i].head)
	}
	f.headSize /= max(1, len(f.blocks))
	return d, nil
}

// addRules compiles the rules of the top-level blocks, and tells to what it comes upon.
func (d *definition) addRules(to watch) {
	if !slices.ContainsFunc(d.Blocks, func(b schema.Block) bool { return len(b.Properties.Rule) > 0 }) {
		return
	}
	f := d.Form
	c := f.newRuleCompiler(to)
	at := 0
	for i := range d.Blocks {
		if at == len(f.steps) || f.blocks[f.steps[at].from].id != d.Blocks[i].ID {
			continue // the second of two blocks with the same id
		}
		if raw := d.Blocks[i].Properties.Rule; len(raw) > 0 {
			f.steps[at].rule = c.read(raw, at)
		}
		at++
	}
	for i := range f.steps {
		if f.steps[i].rule == nil {
			continue
		}
		for _, a := range f.steps[i].rule.set {
			v := &f.variables[a.variable]
			v.head, v.key = answerHead(v.name, schema.TypeVariable, v.name), answerKey(v.name)
		}
	}
}

// newRuleCompiler makes what the rules of the form look into by name.
func (f *Form) newRuleCompiler(to watch) *ruleCompiler {
	f.ruled = true
	f.index = make(map[string]int, len(f.blocks))
	for i := range f.blocks {
		f.index[f.blocks[i].id] = i
	}
	f.hiddenNames = make(map[string]bool, len(f.hidden))
	for i := range f.hidden {
		f.hiddenNames[f.hidden[i].name] = true
	}
	c := &ruleCompiler{steps: make(map[string]int, len(f.steps)), variables: make(map[string]int), to: to}
	f.variableIndex = make(map[string]int, len(f.variables))
	for i := range f.variables {
		name := f.variables[i].name
		f.variableIndex[name] = i
		// A variable that is called like a block or a hidden field cannot be kept beside that
		// field's answer. No write stores a rule that sets such a variable.
		if _, block := f.index[name]; !block && !f.hiddenNames[name] {
			c.variables[name] = i
		}
	}
	for i := range f.steps {
		c.steps[f.blocks[f.steps[i].from].id] = i
	}
	return c
}

// addVariables adds the variables in the order of the definition.
func (f *Form) addVariables(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	tree, err := jsontree.Parse(raw, answerBounds)
	if err != nil || tree.Root().Kind() != jsontree.Object {
		return errors.New("decode stored variables: not an object")
	}
	defer tree.Release()
	for _, value := range tree.Root().All() {
		switch v := value.Value().(type) {
		case float64:
			f.variables = append(f.variables, compiledVariable{name: strings.Clone(value.Name()), initial: v})
		case string:
			f.variables = append(f.variables, compiledVariable{name: strings.Clone(value.Name()), initial: strings.Clone(v)})
		}
	}
	f.variables = slices.Clip(f.variables)
	return nil
}

// complete gives empty properties to the blocks that have none.
func complete(list []schema.Block) {
	for i := range list {
		if list[i].Properties == nil {
			list[i].Properties = &noProperties
		}
		complete(list[i].Children)
	}
}

var noProperties schema.Properties // is only read

// addBlocks adds blocks and what is inside of groups; hide is that of a group around
// them. Of blocks with the same id, which no write makes, the first counts.
func (f *Form) addBlocks(list []schema.Block, with service, seen map[string]bool, hide bool) {
	for i := range list {
		b := &list[i]
		if seen[b.ID] {
			continue
		}
		seen[b.ID] = true
		k := kinds[b.Type]
		c := compiledBlock{
			id:       b.ID,
			typ:      b.Type,
			path:     jsontree.Pointer(answersPath, b.ID),
			host:     k.host,
			hide:     hide || b.Properties.Hide,
			dropped:  b.Type == schema.TypeCaptcha,
			required: b.Required,
			shape:    k.shape,
			rule:     newRule(b, with),
			head:     answerHead(b.ID, b.Type, b.Label),
			key:      answerKey(b.ID),
		}
		if k.host {
			c.path = jsontree.Pointer(hostAnswersPath, b.ID)
		}
		f.blocks = append(f.blocks, c)
		if b.Type == schema.TypeGroup {
			f.addBlocks(b.Children, with, seen, c.hide)
		}
	}
}

// answerHead is what an item of Answers.List begins with.
func answerHead(id, typ, label string) []byte {
	var w jsontree.Writer
	w.Object()
	w.Name("field").Object()
	w.Name("id").String(id)
	w.Name("type").String(typ)
	w.Name("label").String(label)
	w.EndObject()
	w.Name("value")
	return bytes.Clone(w.Bytes()) // without the room to grow
}

// answerKey is what a member of Answers.ByField begins with.
func answerKey(id string) []byte {
	var w jsontree.Writer
	w.Name(id)
	return bytes.Clone(w.Bytes())
}

// step is a top-level block: one step of the path.
type step struct {
	from, to int // its blocks in Form.blocks: itself, and the children of a group
	ending   bool
	rule     *branch // nil: none
}
