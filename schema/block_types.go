package schema

import (
	"iter"
	"slices"
)

// The block types that take an answer from the respondent.
const (
	TypeShortText      = "short_text"
	TypeLongText       = "long_text"
	TypeEmail          = "email"
	TypePhone          = "phone"
	TypeWebsite        = "website"
	TypeNumber         = "number"
	TypeRating         = "rating"
	TypeOpinionScale   = "opinion_scale"
	TypeNPS            = "nps"
	TypeYesNo          = "yes_no"
	TypeLegal          = "legal"
	TypeSingleChoice   = "single_choice"
	TypeMultipleChoice = "multiple_choice"
	TypePictureChoice  = "picture_choice"
	TypeDropdown       = "dropdown"
	TypeRanking        = "ranking"
	TypeMatrix         = "matrix"
	TypeDate           = "date"
	TypeTime           = "time"
	TypeAddress        = "address"
	TypeContactInfo    = "contact_info"
	TypeCountry        = "country"
)

// The block types whose answer only the host can give, apart from the respondent's.
const (
	TypeFileUpload = "file_upload"
	TypeSignature  = "signature"
	TypePayment    = "payment"
)

// The block types without an answer of their own: the container, whose children answer, and the control, whose answer
// is never stored.
const (
	TypeGroup   = "group"
	TypeCaptcha = "captcha"
)

// The block types that only show something.
const (
	TypeWelcome   = "welcome"
	TypeStatement = "statement"
	TypeEnding    = "ending"
	TypeHeading   = "heading"
	TypeText      = "text"
	TypeImage     = "image"
	TypeVideo     = "video"
	TypePDF       = "pdf"
	TypeEmbed     = "embed"
	TypeDivider   = "divider"
	TypePageBreak = "page_break"
)

// The field types in a list of answers that are no block types: of a hidden field, and of a variable that a rule of the
// form set.
const (
	TypeHidden   = "hidden"
	TypeVariable = "variable"
)

// BlockType describes a block type: the person that answers such a block, and the form of the answers.
// [BlockType.Properties] returns its properties. A BlockType is a value, so a caller can change its copy.
type BlockType struct {
	Type       string      // one of the Type constants
	Answerer   Answerer    // the person that answers the block
	Shape      AnswerShape // the shape of a stored answer; empty if no one answers
	Comparison Comparison  // when two answers are the same
	// MaxText is the largest number of characters of a text that is typed: of the answer, of one part of an address or
	// contact, or of the respondent's own text next to choices. A block's maxChars replaces it. A zero value means that no
	// text is typed.
	MaxText int
	// Scale is the scale of rating, opinion_scale and nps where the block's properties say nothing else. Other types have
	// none, which is the zero Scale.
	Scale Scale
	// MaxRendered is the largest number of options that a page offers one by one: icons of a rating, steps of a scale,
	// places of a ranking, days of a date. The answer is typed where there are more. 0: a page has all options, or the
	// type has none.
	MaxRendered int
}

// TakesAnswer reports whether respondents, or the host for them, answer blocks of the type.
func (k BlockType) TakesAnswer() bool { return k.Answerer != NoOne }

// IsCompared reports whether two answers to blocks of the type can be duplicates.
func (k BlockType) IsCompared() bool {
	return k.Comparison != CompareNever && k.Comparison != CompareWord
}

// Answerer says who answers a block. Whatever the type, only the host answers a block with properties.hide.
type Answerer uint8

// The people that answer a block.
const (
	NoOne      Answerer = iota // content, containers, and controls, whose answers are never stored
	Respondent                 // who fills in the form
	Host                       // the program that runs the service: a respondent could forge the answer
)

// AnswerShape is the shape of a stored answer, by the name of its schema among the components of the API description.
// Rules see a choice as its id, a matrix as an object of ids, a date with a time in UTC, and all other answers as they
// are stored.
type AnswerShape string

// The shapes of answers.
const (
	ShapeText    AnswerShape = "TextAnswer"
	ShapeNumber  AnswerShape = "NumberAnswer"
	ShapeInteger AnswerShape = "IntegerAnswer"
	ShapeBoolean AnswerShape = "BooleanAnswer"
	ShapeChoice  AnswerShape = "ChoiceAnswer" // see also [Block.AnswerShape]
	ShapeChoices AnswerShape = "ChoicesAnswer"
	ShapeRanking AnswerShape = "RankingAnswer"
	ShapeMatrix  AnswerShape = "MatrixAnswer"
	ShapeDate    AnswerShape = "DateAnswer"
	ShapeTime    AnswerShape = "TimeAnswer"
	ShapeFiles   AnswerShape = "FilesAnswer"
	ShapeFile    AnswerShape = "FileAnswer"
	ShapeContact AnswerShape = "AddressAnswer" // of address and contact_info
	ShapePayment AnswerShape = "PaymentAnswer"
)

// Comparison says when two answers are the same: for settings.duplicateField, and for erasing what a respondent sent.
type Comparison string

// How answers are compared. Answers that are compared never or as words are no duplicates.
const (
	CompareNever   Comparison = ""
	CompareWord    Comparison = "word"    // by a name for erasing only, in upper or lower case
	CompareText    Comparison = "text"    // ignores case, character width and whitespace
	CompareEmail   Comparison = "email"   // as text, with the ASCII form of the domain
	ComparePhone   Comparison = "phone"   // in E.164
	CompareWebsite Comparison = "website" // without scheme, default port and last slash
	CompareNumber  Comparison = "number"  // the value, however it is written
	CompareChoices Comparison = "choices" // ids and own texts, in any order
	CompareRanking Comparison = "ranking" // ids in their order
	CompareStored  Comparison = "stored"  // byte by byte
)

// Scale is a range of numbers, both ends included, in steps.
type Scale struct{ From, To, Step float64 }

// blockTypes is the table of all block types, in the order of the API description. Nothing writes to it.
var blockTypes = [...]BlockType{
	{Type: TypeShortText, Answerer: Respondent, Shape: ShapeText, Comparison: CompareText, MaxText: 10_000},
	{Type: TypeLongText, Answerer: Respondent, Shape: ShapeText, Comparison: CompareText, MaxText: 100_000},
	{Type: TypeEmail, Answerer: Respondent, Shape: ShapeText, Comparison: CompareEmail, MaxText: 254},
	{Type: TypePhone, Answerer: Respondent, Shape: ShapeText, Comparison: ComparePhone, MaxText: 64},
	{Type: TypeWebsite, Answerer: Respondent, Shape: ShapeText, Comparison: CompareWebsite, MaxText: 2048},
	{Type: TypeNumber, Answerer: Respondent, Shape: ShapeNumber, Comparison: CompareNumber},
	{Type: TypeRating, Answerer: Respondent, Shape: ShapeInteger, Comparison: CompareNumber, Scale: Scale{1, 5, 1}, MaxRendered: 20},
	{Type: TypeOpinionScale, Answerer: Respondent, Shape: ShapeNumber, Comparison: CompareNumber, Scale: Scale{1, 10, 1}, MaxRendered: 21},
	{Type: TypeNPS, Answerer: Respondent, Shape: ShapeInteger, Comparison: CompareNumber, Scale: Scale{0, 10, 1}, MaxRendered: 11},
	{Type: TypeYesNo, Answerer: Respondent, Shape: ShapeBoolean, Comparison: CompareWord},
	{Type: TypeLegal, Answerer: Respondent, Shape: ShapeBoolean, Comparison: CompareWord},
	{Type: TypeSingleChoice, Answerer: Respondent, Shape: ShapeChoice, Comparison: CompareChoices, MaxText: 10_000},
	{Type: TypeMultipleChoice, Answerer: Respondent, Shape: ShapeChoices, Comparison: CompareChoices, MaxText: 10_000},
	{Type: TypePictureChoice, Answerer: Respondent, Shape: ShapeChoice, Comparison: CompareChoices, MaxText: 10_000},
	{Type: TypeDropdown, Answerer: Respondent, Shape: ShapeChoice, Comparison: CompareChoices, MaxText: 10_000},
	{Type: TypeRanking, Answerer: Respondent, Shape: ShapeRanking, Comparison: CompareRanking, MaxRendered: 40},
	{Type: TypeMatrix, Answerer: Respondent, Shape: ShapeMatrix},
	{Type: TypeDate, Answerer: Respondent, Shape: ShapeDate, Comparison: CompareStored, MaxRendered: 50},
	{Type: TypeTime, Answerer: Respondent, Shape: ShapeTime, Comparison: CompareStored},
	{Type: TypeFileUpload, Answerer: Host, Shape: ShapeFiles},
	{Type: TypeSignature, Answerer: Host, Shape: ShapeFile},
	{Type: TypeAddress, Answerer: Respondent, Shape: ShapeContact, MaxText: 1000},
	{Type: TypeContactInfo, Answerer: Respondent, Shape: ShapeContact, MaxText: 1000},
	{Type: TypeCountry, Answerer: Respondent, Shape: ShapeText, Comparison: CompareWord, MaxText: 64},
	{Type: TypePayment, Answerer: Host, Shape: ShapePayment},
	{Type: TypeGroup}, {Type: TypeCaptcha}, {Type: TypeWelcome}, {Type: TypeStatement}, {Type: TypeEnding}, {Type: TypeHeading},
	{Type: TypeText}, {Type: TypeImage}, {Type: TypeVideo}, {Type: TypePDF}, {Type: TypeEmbed}, {Type: TypeDivider}, {Type: TypePageBreak},
}

// blockTypesByName is the table by type. Nothing writes to it either.
var blockTypesByName = func() map[string]BlockType {
	index := make(map[string]BlockType, len(blockTypes))
	for _, k := range blockTypes {
		index[k.Type] = k
	}
	return index
}()

// LookupBlockType returns what a type of blocks is. It is false, with the zero Kind, for a type that this release does
// not know: a newer release may have stored it.
func LookupBlockType(blockType string) (k BlockType, known bool) {
	k, known = blockTypesByName[blockType]
	return k, known
}

// BlockTypes ranges over all types of blocks, in the order of the API description.
func BlockTypes() iter.Seq[BlockType] { return slices.Values(blockTypes[:]) }

// PartType returns the type of blocks whose answers are like a part of an address or contact.
func PartType(part string) string {
	switch part {
	case TypeEmail, TypePhone, TypeCountry: // which the parts are called as well
		return part
	}
	return TypeShortText
}
