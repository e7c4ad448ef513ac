package answers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/schema"
)

// Form is a form made ready for checking answers. It is immutable: safe for
// concurrent use and fit to be kept for as long as the definition's revision
// lasts.
type Form struct {
	blocks []compiledBlock // depth first, in definition order
	hidden []compiledHidden
	unique int // index in blocks of settings.duplicateField, -1: none
	limit  int // bytes of the answers of one response

	headSize int // mean bytes that an answer costs beside its value
}

// compiledBlock is a block as far as its answer is concerned. What the answer's
// items begin with is encoded once, here.
type compiledBlock struct {
	id       string
	path     string // where its answer stands in an Input
	host     bool   // the answer comes from the host
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

// A rule checks the answers of one block.
type rule interface {
	// check writes the value to be stored for the answer n, and reports faults to
	// r. After a fault, the value does not matter. When it does neither, the block
	// is unanswered. n is never blank.
	check(w *jsontree.Writer, n jsontree.Node, r *report)

	// sample returns a made-up answer as a respondent, or the host, might send it.
	sample() string
}

// Compile makes a form ready for [Form.Check] from the sections of its stored
// definition; nil sections are empty ones. The children of a group count like
// top-level blocks. A block of an unknown type takes no answer. Of l, FileSize and
// Response are used; zero means their defaults. An error means that a section is not what is
// stored.
//
// A form takes about ten times the bytes of its sections. The bounds of a
// definition, 100,000 values in its blocks and 4 MiB in all, keep it below 24 MB.
func Compile(blocks, settings, hidden json.RawMessage, l schema.Limits) (*Form, error) {
	list, err := schema.DecodeBlocks(blocks)
	if err != nil {
		return nil, err
	}
	set, err := schema.DecodeSettings(settings)
	if err != nil {
		return nil, err
	}
	var names []string
	if len(hidden) > 0 {
		if err := json.Unmarshal(hidden, &names); err != nil {
			return nil, fmt.Errorf("decode stored hidden fields: %w", err)
		}
	}
	l = l.WithDefaults()

	f := &Form{unique: -1, limit: l.Response}
	seen := make(map[string]bool)
	f.addBlocks(list, l, seen)
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
	if set.DuplicateField != "" {
		f.unique = slices.IndexFunc(f.blocks, func(b compiledBlock) bool { return b.id == set.DuplicateField })
	}
	for i := range f.blocks {
		f.headSize += len(f.blocks[i].head)
	}
	f.headSize /= max(1, len(f.blocks))
	return f, nil
}

// addBlocks adds blocks and what is inside of groups. Of blocks with the same id,
// which no write makes, the first counts.
func (f *Form) addBlocks(list []schema.Block, l schema.Limits, seen map[string]bool) {
	for i := range list {
		b := &list[i]
		if seen[b.ID] {
			continue
		}
		seen[b.ID] = true
		c := compiledBlock{
			id:       b.ID,
			path:     jsontree.Pointer(answersPath, b.ID),
			dropped:  b.Type == schema.TypeCaptcha,
			required: b.Required,
			rule:     newRule(b, l),
			head:     answerHead(b.ID, b.Type, b.Label),
			key:      answerKey(b.ID),
		}
		switch b.Type {
		case schema.TypeFileUpload, schema.TypeSignature, schema.TypePayment:
			c.host = true
			c.path = jsontree.Pointer(hostAnswersPath, b.ID)
		}
		f.blocks = append(f.blocks, c)
		if b.Type == schema.TypeGroup {
			f.addBlocks(b.Children, l, seen)
		}
	}
}

// newRule returns what checks the answers of b, nil when b takes none.
func newRule(b *schema.Block, l schema.Limits) rule {
	p := b.Properties
	if p == nil {
		p = new(schema.Properties)
	}
	switch b.Type {
	case schema.TypeShortText:
		return textRule{max: positive(p.MaxChars, maxShortText), oneLine: true}
	case schema.TypeLongText:
		return textRule{max: positive(p.MaxChars, maxLongText)}
	case schema.TypeEmail:
		return emailRule{}
	case schema.TypeWebsite:
		return websiteRule{}
	case schema.TypePhone:
		return givenRule{example: "+14155550100"}
	case schema.TypeCountry:
		return givenRule{example: "NL"}
	case schema.TypeNumber:
		return newNumberRule(p)
	case schema.TypeRating:
		return newRatingRule(p)
	case schema.TypeNPS:
		return numberRule{least: 0, most: 10, whole: true}
	case schema.TypeOpinionScale:
		return newScaleRule(p)
	case schema.TypeYesNo:
		return yesNoRule{}
	case schema.TypeLegal:
		return legalRule{mustAccept: b.Required || p.LegalStopFurther}
	case schema.TypeSingleChoice, schema.TypeDropdown:
		return choiceRule{newChoices(b.Choices, p.OtherOption)}
	case schema.TypeMultipleChoice:
		return newMultipleRule(b, p)
	case schema.TypePictureChoice:
		if p.MultiSelection {
			return newMultipleRule(b, p)
		}
		return choiceRule{newChoices(b.Choices, p.OtherOption)}
	case schema.TypeRanking:
		return rankingRule{newChoices(b.Choices, false)}
	case schema.TypeMatrix:
		return newMatrixRule(b, p)
	case schema.TypeDate:
		return newDateRule(p)
	case schema.TypeTime:
		return timeRule{seconds: p.ShowSeconds}
	case schema.TypeAddress, schema.TypeContactInfo:
		return newContactRule(p.AddressOrContact)
	case schema.TypeFileUpload:
		return newFilesRule(p, l)
	case schema.TypeSignature:
		return signatureRule{newFileRule(p, l)}
	case schema.TypePayment:
		return paymentRule{amount: p.Amount, currency: p.Currency, gateway: p.PaymentGateway}
	default:
		return nil
	}
}

// positive returns n where it is set and above 0, else fallback.
func positive(n *schema.Integer, fallback int) int {
	if n == nil || *n <= 0 {
		return fallback
	}
	return int(*n)
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
