package schema

import (
	"encoding/json"
	"slices"
)

// Form is a form made ready for checking answers. It is immutable: safe for
// concurrent use and fit to be kept for as long as the definition's revision
// lasts.
type Form struct {
	blocks []compiledBlock // depth first, in definition order
	hidden []compiledHidden
	unique int // index in blocks of settings.duplicateField, -1: none

	headSize int // mean bytes that an answer costs beside its value
}

// compiledBlock is a block as far as its answer is concerned. What the answer's
// items begin with is encoded once, here.
type compiledBlock struct {
	id       string
	path     string // where its answer stands in an AnswerInput
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
	// check appends what is stored for the answer n to dst and returns the longer
	// slice. What is wrong it reports to r; then the appended bytes do not matter.
	// Appending and reporting nothing means that the block is unanswered. n is
	// never blank.
	check(dst []byte, n *node, r *report) []byte

	// sample returns a made-up answer as a respondent, or the host, might send it.
	sample() string
}

// CompileForm makes a form ready for [Form.Check] from the sections of its stored
// definition; nil sections are empty ones. The children of a group count like
// top-level blocks. A block of an unknown type takes no answer. Of l, FileSize is
// used; zero means its default. An error means that a section is not what this
// package stores.
func CompileForm(blocks, settings, hidden json.RawMessage, l Limits) (*Form, error) {
	list, err := DecodeBlocks(blocks)
	if err != nil {
		return nil, err
	}
	set, err := DecodeSettings(settings)
	if err != nil {
		return nil, err
	}
	names, err := decodeSection[[]string](hidden, "hidden fields")
	if err != nil {
		return nil, err
	}
	l = l.WithDefaults()

	f := &Form{unique: -1}
	seen := make(map[string]bool)
	f.addBlocks(list, l, seen)
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		f.hidden = append(f.hidden, compiledHidden{
			name: name,
			head: answerHead(name, TypeHidden, name),
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
func (f *Form) addBlocks(list []Block, l Limits, seen map[string]bool) {
	for i := range list {
		b := &list[i]
		if seen[b.ID] {
			continue
		}
		seen[b.ID] = true
		c := compiledBlock{
			id:       b.ID,
			path:     pointer(answersPath, b.ID),
			dropped:  b.Type == TypeCaptcha,
			required: b.Required,
			rule:     newRule(b, l),
			head:     answerHead(b.ID, b.Type, b.Label),
			key:      answerKey(b.ID),
		}
		switch b.Type {
		case TypeFileUpload, TypeSignature, TypePayment:
			c.host = true
			c.path = pointer(hostAnswersPath, b.ID)
		}
		f.blocks = append(f.blocks, c)
		if b.Type == TypeGroup {
			f.addBlocks(b.Children, l, seen)
		}
	}
}

// newRule returns what checks the answers of b, nil when b takes none.
func newRule(b *Block, l Limits) rule {
	p := b.Properties
	if p == nil {
		p = new(Properties)
	}
	switch b.Type {
	case TypeShortText:
		return textRule{max: positive(p.MaxChars, maxShortText), oneLine: true}
	case TypeLongText:
		return textRule{max: positive(p.MaxChars, maxLongText)}
	case TypeEmail:
		return emailRule{}
	case TypeWebsite:
		return websiteRule{}
	case TypePhone:
		return givenRule{example: "+14155550100"}
	case TypeCountry:
		return givenRule{example: "NL"}
	case TypeNumber:
		return newNumberRule(p)
	case TypeRating:
		return newRatingRule(p)
	case TypeNPS:
		return numberRule{least: 0, most: 10, whole: true}
	case TypeOpinionScale:
		return newScaleRule(p)
	case TypeYesNo:
		return yesNoRule{}
	case TypeLegal:
		return legalRule{mustAccept: b.Required || p.LegalStopFurther}
	case TypeSingleChoice, TypeDropdown:
		return choiceRule{newChoices(b.Choices, p.OtherOption)}
	case TypeMultipleChoice:
		return newMultipleRule(b, p)
	case TypePictureChoice:
		if p.MultiSelection {
			return newMultipleRule(b, p)
		}
		return choiceRule{newChoices(b.Choices, p.OtherOption)}
	case TypeRanking:
		return rankingRule{newChoices(b.Choices, false)}
	case TypeMatrix:
		return matrixRule{
			rows:     newChoices(b.MatrixRows, false),
			columns:  newChoices(b.MatrixColumns, false),
			multiple: p.MultiSelection,
			required: b.Required,
		}
	case TypeDate:
		return newDateRule(p)
	case TypeTime:
		return timeRule{seconds: p.ShowSeconds}
	case TypeAddress, TypeContactInfo:
		return newContactRule(p.AddressOrContact)
	case TypeFileUpload:
		return newFilesRule(p, l)
	case TypeSignature:
		return signatureRule{newFileRule(p, l)}
	case TypePayment:
		return paymentRule{amount: p.Amount, currency: p.Currency, gateway: p.PaymentGateway}
	default:
		return nil
	}
}

// positive returns n where it is set and above 0, else fallback.
func positive(n *Integer, fallback int) int {
	if n == nil || *n <= 0 {
		return fallback
	}
	return int(*n)
}
