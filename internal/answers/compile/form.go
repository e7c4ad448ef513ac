// Package compile compiles a stored definition: its blocks, and the rules in properties.rule.
package compile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// Form is a compiled form. It is immutable, safe for concurrent use, and valid for one revision of the definition.
type Form struct {
	Blocks []Block // depth-first, in definition order
	Steps  []Step  // top-level blocks
	Hidden []Hidden
	Unique int // index in Blocks of the block in settings.duplicateField, or -1
	Limit  int // maximum size in bytes of a submission's answers

	Variables []Variable
	HasRules  bool           // whether a step has a rule, or a block has checks
	AsksHost  bool           // whether a block has a list or checks of the host
	Zone      *time.Location // for the operator today

	Index         map[string]int // index in Blocks by ID
	VariableIndex map[string]int // index in Variables by name
	HiddenNames   map[string]bool

	HeadSize int // average size in bytes of an encoded answer, excluding its value
}

// Block is a compiled block.
type Block struct {
	ID, Type string
	Path     string             // path of the block's answer in a request
	Shape    schema.AnswerShape // determines how rules read the answer
	Host     bool               // only the host can answer
	Hide     bool               // never on the path, so only the host can answer
	Dropped  bool               // answers are accepted but not stored
	Required bool
	Rule     answertype.Rule // nil if the block takes no answer
	Checks   []Check
	List     *List // nil if the choices are the block's own
	To       int   // index in Form.Blocks after the nested blocks
	// LegalText is properties.legalText of a legal block. Consent is the text that its answers store, as JSON.
	LegalText string
	Consent   []byte
	Item
}

// List is the host's list that the choices of a block come from.
type List struct {
	Name string
	By   *logic.Logic // the value that determines the choices; can be nil
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
	Item        // set only if a rule sets the variable
}

// Item holds the encoded start of an answer, which is the same in every submission.
type Item struct {
	Head []byte // in Answers.List: {"field":{…},"value":
	Key  []byte // in Answers.ByField: "id":
}

// Source is the input of [New].
type Source struct {
	storage.Definition // a nil section counts as empty; the theme is ignored
	// Layout is SINGLE or MULTI. Only warnings use it. If empty, they assume MULTI.
	Layout string
	// Lists and Checks are the host's choices and checks. Only warnings use them.
	Lists, Checks []schema.NamedItem
	// Limits are the service's limits. Only FileSize and Submission are used. Zero values mean the defaults.
	Limits   schema.Limits
	TimeZone *time.Location // the service's time zone for date limits; defaults to UTC
}

// New compiles a form. Blocks in a group count like top-level blocks. A block of an unknown type accepts no answer.
// New returns an error if a section is not in the stored JSON format.
//
// A compiled form uses about ten times as much memory as its sections. It uses less than 24 MB, because the blocks are
// limited to 100,000 values and the definition to 4 MiB.
func New(from Source) (*Form, error) {
	d, err := ReadDefinition(from)
	if err != nil {
		return nil, err
	}
	d.AddRules(Observer{})
	return d.Form, nil
}

// Definition holds the decoded sections of a form.
type Definition struct {
	Form     *Form          // has no rules until AddRules is called
	Blocks   []schema.Block // top-level blocks; Properties is never nil
	Settings schema.Settings
}

// ReadDefinition compiles everything except rules.
func ReadDefinition(from Source) (d Definition, err error) {
	if d.Blocks, err = schema.DecodeBlocks(from.Blocks); err != nil {
		return d, err
	}
	if d.Settings, err = schema.DecodeSettings(from.Settings); err != nil {
		return d, err
	}
	names, err := schema.DecodeHiddenFields(from.HiddenFields)
	if err != nil {
		return d, err
	}
	limits := from.Limits.WithDefaults()
	zone := cmp.Or(from.TimeZone, time.UTC)
	f := &Form{Unique: -1, Zone: zone, Limit: limits.Submission, Index: make(map[string]int, len(d.Blocks)), HiddenNames: make(map[string]bool)}
	d.Form = f
	if err := f.addVariables(from.Variables); err != nil {
		return d, err
	}
	with := answertype.ServiceConfig{FileSize: limits.FileSize, TimeZone: zone}
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
		f.Hidden = append(f.Hidden, Hidden{Name: name, Item: NewItem(name, schema.TypeHidden, name, "")})
	}
	if at, ok := f.Index[d.Settings.DuplicateField]; ok {
		f.Unique = at
	}
	f.HeadSize /= max(1, len(f.Blocks))
	return d, nil
}

// AddRules compiles the rules of the top-level blocks and the checks of all blocks, and calls the observer's functions.
func (d *Definition) AddRules(to Observer) {
	f := d.Form
	c := ruleCompiler{form: f, observer: to}
	for i := range d.Blocks {
		c.step, c.block = i, f.Steps[i].From
		if raw := d.Blocks[i].Properties.Rule; len(raw) > 0 {
			f.HasRules = true
			rule := &f.Steps[i].Rule
			*rule = c.compileRule(raw)
			for _, a := range rule.Set {
				v := &f.Variables[a.Variable]
				v.Item = NewItem(v.Name, schema.TypeVariable, v.Name, "")
			}
		}
		c.compileBlockChecks(&d.Blocks[i])
	}
}

// compileBlockChecks compiles the checks of a block and its nested blocks.
func (c *ruleCompiler) compileBlockChecks(b *schema.Block) {
	c.block = c.form.Index[b.ID]
	if raw := b.Properties.Rule; len(raw) > 0 {
		checks := jsontree.Inspect(raw, answertype.ParseLimits, func(rule jsontree.Node) []Check { return c.compileChecks(rule.Member("check")) })
		c.form.Blocks[c.block].Checks = checks
		c.form.HasRules = c.form.HasRules || checks != nil
		c.form.AsksHost = c.form.AsksHost || slices.ContainsFunc(checks, func(c Check) bool { return c.Host != "" })
	}
	if ref := b.ListRef(); ref.List != "" {
		list := &List{Name: ref.List}
		if ref.By != "" {
			source := answertype.EncodeJSON(map[string]string{"var": ref.By})
			list.By = jsontree.Inspect([]byte(source), answertype.ParseLimits, func(n jsontree.Node) *logic.Logic { return c.compileLogic(&c.patterns, n, false) })
		}
		c.form.Blocks[c.block].List, c.form.HasRules, c.form.AsksHost = list, true, true
	}
	if b.Type == schema.TypeGroup {
		for i := range b.Children {
			c.compileBlockChecks(&b.Children[i])
		}
	}
}

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

// dropDuplicates adds each block's index in Form.Blocks to the map index. It drops blocks with duplicate IDs, which the
// API never stores, and sets missing properties.
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

// addBlocks adds blocks and their nested blocks. hide is true if the parent group is hidden.
func (f *Form) addBlocks(list []schema.Block, with answertype.ServiceConfig, hide bool) {
	for i := range list {
		b := &list[i]
		k, _ := schema.LookupBlockType(b.Type)
		c := Block{
			ID:       b.ID,
			Type:     b.Type,
			Path:     jsontree.JoinPointer(AnswersPath, b.ID),
			Host:     k.Answerer == schema.Host,
			Hide:     hide || b.Properties.Hide,
			Dropped:  b.Type == schema.TypeCaptcha,
			Required: b.Required,
			Shape:    k.Shape,
			Rule:     answertype.NewRule(b, with),
		}
		var consent string
		if b.Type == schema.TypeLegal {
			c.LegalText = b.Properties.LegalText
			if consent = schema.ParseText(c.LegalText, schema.Formatting).PlainWithLinks(); consent != "" {
				c.Consent = jsontree.AppendString(nil, consent)
			}
		}
		c.Item = NewItem(b.ID, b.Type, b.PlainLabel(), consent)
		if c.Host {
			c.Path = jsontree.JoinPointer(HostAnswersPath, b.ID)
		}
		f.Blocks = append(f.Blocks, c)
		f.HeadSize += len(c.Head)
		at := len(f.Blocks) - 1
		if b.Type == schema.TypeGroup {
			f.addBlocks(b.Children, with, c.Hide)
		}
		f.Blocks[at].To = len(f.Blocks)
	}
}

// NewItem encodes the start of an answer. The argument consent is the text of a legal block.
func NewItem(id, typ, label, consent string) Item {
	var head, key jsontree.Writer
	head.Object()
	head.Name("field").Object()
	head.Name("id").String(id)
	head.Name("type").String(typ)
	head.Name("label").String(label)
	if consent != "" {
		head.Name("text").String(consent)
	}
	head.EndObject()
	head.Name("value")
	key.Name(id)
	return Item{bytes.Clone(head.Bytes()), bytes.Clone(key.Bytes())} // Clone drops spare capacity
}

// Step is a top-level block.
type Step struct {
	From, To int // range in Form.Blocks that includes nested blocks
	Ending   bool
	Rule     StepRule
}

// Start of the paths of answers in violations.
const (
	AnswersPath     = "/answers"
	HostAnswersPath = "/host_answers"
)
