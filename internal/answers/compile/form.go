// Package compile compiles a stored definition: its blocks with the rules of their answers, and the logic in
// properties.rule.
package compile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Form is a compiled form for checking answers. It is immutable and safe for concurrent use. It can be cached for a
// revision of the definition.
type Form struct {
	Blocks []Block // depth first, in definition order
	Steps  []Step  // top-level blocks
	Hidden []Hidden
	Unique int // index in Blocks of settings.duplicateField, or -1
	Limit  int // size limit of one submission's answers in bytes

	Variables []Variable
	HasRules  bool // whether a step has a rule

	Index         map[string]int // in Blocks
	VariableIndex map[string]int // in Variables
	HiddenNames   map[string]bool

	HeadSize int // average bytes of an answer without its value
}

// Block contains the data for a block's answer. The prefix of the answer's items is encoded once.
type Block struct {
	ID, Type string
	Path     string             // of its answer in an Input
	Shape    schema.AnswerShape // of the answer, for rules
	Host     bool               // whether the host provides the answer
	Hide     bool               // whether the block is off every path, so that only the host can answer it
	Dropped  bool               // whether an answer is accepted but not stored
	Required bool
	Rule     answertype.Rule // nil if the block has no answer
	Item
}

// Hidden is a hidden field.
type Hidden struct {
	Name string
	Item
}

// Variable is a variable of the definition.
type Variable struct {
	Name    string
	Initial any // float64 or string
	Item        // set if a rule sets the variable
}

// Item is the encoded prefix of an answer.
type Item struct {
	Head []byte // in Answers.List: {"field":{…},"value":
	Key  []byte // in Answers.ByField: "id":
}

// Source contains the input for compiling a form.
type Source struct {
	// Definition is stored. A nil section is empty, and the theme is not used.
	storage.Definition
	// Limits are the service's limits, of which FileSize and Submission are used. Zero values mean the defaults.
	Limits schema.Limits
	// TimeZone is the service's time zone for date limits. Defaults to UTC.
	TimeZone *time.Location
}

// New compiles a form. Blocks in a group count like top-level blocks. A block of an unknown type accepts no answer. An
// error means that a section is not in its stored format.
//
// A form takes about ten times the bytes of its sections, including rules. The limits of 100,000 values in blocks and 4
// MiB in total keep it below 24 MB.
func New(from Source) (*Form, error) {
	d, err := Read(from)
	if err != nil {
		return nil, err
	}
	d.AddRules(Observer{})
	return d.Form, nil
}

// Definition contains the decoded sections of a form.
type Definition struct {
	Form     *Form          // without rules before AddRules
	Blocks   []schema.Block // the blocks of Form.Steps; each has properties
	Settings schema.Settings
}

// Read compiles everything except rules.
func Read(from Source) (d Definition, err error) {
	if d.Blocks, err = schema.DecodeBlocks(from.Blocks); err != nil {
		return d, err
	}
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
	f := &Form{Unique: -1, Limit: limits.Submission, Index: make(map[string]int, len(d.Blocks)), HiddenNames: make(map[string]bool)}
	d.Form = f
	if err := f.addVariables(from.Variables); err != nil {
		return d, err
	}
	with := answertype.ServiceConfig{FileSize: limits.FileSize, TimeZone: cmp.Or(from.TimeZone, time.UTC)}
	d.Blocks = dropDuplicates(d.Blocks, f.Index)
	f.Blocks = make([]Block, 0, len(f.Index))
	for i := range d.Blocks {
		from := len(f.Blocks)
		f.addBlocks(d.Blocks[i:i+1], with, false)
		f.Steps = append(f.Steps, Step{From: from, To: len(f.Blocks), Ending: d.Blocks[i].Type == schema.TypeEnding})
	}
	for _, name := range names {
		if _, taken := f.Index[name]; taken || f.HiddenNames[name] {
			continue
		}
		f.HiddenNames[name] = true
		f.Hidden = append(f.Hidden, Hidden{Name: name, Item: NewItem(name, schema.TypeHidden, name)})
	}
	if at, ok := f.Index[d.Settings.DuplicateField]; ok {
		f.Unique = at
	}
	f.HeadSize /= max(1, len(f.Blocks))
	return d, nil
}

// AddRules compiles the rules of the top-level blocks and reports findings to the observer.
func (d *Definition) AddRules(to Observer) {
	f := d.Form
	c := ruleCompiler{form: f, observer: to}
	for i := range d.Blocks {
		raw := d.Blocks[i].Properties.Rule
		if len(raw) == 0 {
			continue
		}
		f.HasRules = true
		rule := &f.Steps[i].Rule
		*rule = c.read(raw, i)
		for _, a := range rule.Set {
			v := &f.Variables[a.Variable]
			v.Item = NewItem(v.Name, schema.TypeVariable, v.Name)
		}
	}
}

// addVariables adds the variables in the order of the definition.
func (f *Form) addVariables(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	tree, err := jsontree.Parse(raw, answertype.ParseLimits)
	if err != nil || tree.Root().Kind() != jsontree.Object {
		return errors.New("decode stored variables: not an object")
	}
	defer tree.Release()
	f.VariableIndex = make(map[string]int, tree.Root().Len())
	for _, value := range tree.Root().All() {
		initial := value.Value()
		switch v := initial.(type) {
		case string:
			initial = strings.Clone(v)
		case float64:
		default:
			continue
		}
		name := strings.Clone(value.Name())
		f.VariableIndex[name] = len(f.Variables)
		f.Variables = append(f.Variables, Variable{Name: name, Initial: initial})
	}
	f.Variables = slices.Clip(f.Variables)
	return nil
}

// dropDuplicates sets properties, records positions in Form.Blocks, and drops blocks with duplicate IDs, which writes
// never create.
func dropDuplicates(list []schema.Block, index map[string]int) []schema.Block {
	unique := list[:0]
	for _, b := range list {
		if _, there := index[b.ID]; there {
			continue
		}
		index[b.ID] = len(index)
		b.Properties = cmp.Or(b.Properties, &emptyProperties)
		if b.Type == schema.TypeGroup {
			b.Children = dropDuplicates(b.Children, index)
		}
		unique = append(unique, b)
	}
	return unique
}

var emptyProperties schema.Properties // read-only

// addBlocks adds blocks and their nested blocks. The argument hide reports whether their group is hidden.
func (f *Form) addBlocks(list []schema.Block, with answertype.ServiceConfig, hide bool) {
	for i := range list {
		b := &list[i]
		k, _ := schema.LookupBlockType(b.Type)
		c := Block{
			ID:       b.ID,
			Type:     b.Type,
			Path:     jsontree.Pointer(AnswersPath, b.ID),
			Host:     k.Answerer == schema.Host,
			Hide:     hide || b.Properties.Hide,
			Dropped:  b.Type == schema.TypeCaptcha,
			Required: b.Required,
			Shape:    k.Shape,
			Rule:     answertype.New(b, with),
			Item:     NewItem(b.ID, b.Type, b.Label),
		}
		if c.Host {
			c.Path = jsontree.Pointer(HostAnswersPath, b.ID)
		}
		f.Blocks = append(f.Blocks, c)
		f.HeadSize += len(c.Head)
		if b.Type == schema.TypeGroup {
			f.addBlocks(b.Children, with, c.Hide)
		}
	}
}

// NewItem returns the prefix of an answer.
func NewItem(id, typ, label string) Item {
	var head, key jsontree.Writer
	head.Object()
	head.Name("field").Object()
	head.Name("id").String(id)
	head.Name("type").String(typ)
	head.Name("label").String(label)
	head.EndObject()
	head.Name("value")
	key.Name(id)
	return Item{bytes.Clone(head.Bytes()), bytes.Clone(key.Bytes())} // without spare capacity
}

// Step is a top-level block and a step of the path.
type Step struct {
	From, To int // range in Form.Blocks, including nested blocks
	Ending   bool
	Rule     StepRule
}

// These are the paths of answers in a Violation.
const (
	AnswersPath     = "/answers"
	HostAnswersPath = "/host_answers"
)
