// Package compile compiles a stored definition: its blocks with the rules of their answers,
// and the logic in properties.rule.
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

// Form is a form made ready for checking answers. It is immutable: safe for
// concurrent use and fit to be kept for as long as the definition's revision
// lasts.
type Form struct {
	Blocks []Block // depth first, in definition order
	Steps  []Step  // the top-level blocks
	Hidden []Hidden
	Unique int // index in Blocks of settings.duplicateField, -1: none
	Limit  int // bytes of the answers of one response

	Variables []Variable
	HasRules  bool // some step has a rule

	Index         map[string]int // in Blocks
	VariableIndex map[string]int // in Variables
	HiddenNames   map[string]bool

	HeadSize int // mean bytes that an answer costs beside its value
}

// Block is a block as far as its answer is concerned. What the answer's
// items begin with is encoded once, here.
type Block struct {
	ID, Type string
	Path     string             // where its answer stands in an Input
	Shape    schema.AnswerShape // of the answer, to rules
	Host     bool               // the answer comes from the host
	Hide     bool               // off every path: only the host may answer
	Dropped  bool               // an answer is accepted and not stored
	Required bool
	Rule     answertype.Rule // nil: takes no answer
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
	Item        // made when a rule sets the variable
}

// Item is how an answer begins where answers are written, encoded once.
type Item struct {
	Head []byte // in Answers.List: {"field":{…},"value":
	Key  []byte // in Answers.ByField: "id":
}

// Source has what a form is compiled from.
type Source struct {
	// Definition is the stored one. A nil section is empty, and the theme is not read.
	storage.Definition
	// Limits are the service's. FileSize and Response are used; zero means their
	// defaults.
	Limits schema.Limits
	// TimeZone is the service's, for the days of date bounds. nil is UTC.
	TimeZone *time.Location
}

// New makes a form ready for checking. The children of a group count like top-level
// blocks. A block of an unknown type takes no answer. An error means that a section is
// not in its stored form.
//
// A form takes about ten times the bytes of its sections, rules included. The bounds of a
// definition, 100,000 values in its blocks and 4 MiB in all, keep it below 24 MB.
func New(from Source) (*Form, error) {
	d, err := Read(from)
	if err != nil {
		return nil, err
	}
	d.AddRules(Observer{})
	return d.Form, nil
}

// Definition has the decoded sections that a form is compiled from.
type Definition struct {
	Form     *Form          // without rules until AddRules has run
	Blocks   []schema.Block // those of Form.Steps; each has properties
	Settings schema.Settings
}

// Read compiles everything but the rules.
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

// AddRules compiles the rules of the top-level blocks, and tells the watch its findings.
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

// dropDuplicates gives each block properties, notes where it stands in Form.Blocks, and drops blocks
// whose id another one has, which no write makes.
func dropDuplicates(list []schema.Block, index map[string]int) []schema.Block {
	kept := list[:0]
	for _, b := range list {
		if _, there := index[b.ID]; there {
			continue
		}
		index[b.ID] = len(index)
		b.Properties = cmp.Or(b.Properties, &emptyProperties)
		if b.Type == schema.TypeGroup {
			b.Children = dropDuplicates(b.Children, index)
		}
		kept = append(kept, b)
	}
	return kept
}

var emptyProperties schema.Properties // is only read

// addBlocks adds blocks and the children of groups; hide says whether a group around
// them is hidden.
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

// NewItem returns how an answer begins.
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
	return Item{bytes.Clone(head.Bytes()), bytes.Clone(key.Bytes())} // without the room to grow
}

// Step is a top-level block: one step of the path.
type Step struct {
	From, To int // its blocks in Form.Blocks: itself, and the children of a group
	Ending   bool
	Rule     StepRule
}

// Where the answers of a response stand in the path of a Violation.
const (
	AnswersPath     = "/answers"
	HostAnswersPath = "/host_answers"
)
