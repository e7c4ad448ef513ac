package schema

import (
	"iter"
	"slices"
)

// The respondent answers blocks of these types.
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

// The host answers blocks of these types, separately from the respondent's answers.
const (
	TypeFileUpload = "file_upload"
	TypeSignature  = "signature"
	TypePayment    = "payment"
)

// Blocks of these types have no stored answer. A group's children can have answers. A captcha is a control.
const (
	TypeGroup   = "group"
	TypeCaptcha = "captcha"
)

// Blocks of these types only display content.
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

// These are types of an [Answer] but not block types: a hidden field, and a variable that a rule has set.
const (
	TypeHidden   = "hidden"
	TypeVariable = "variable"
)

// BlockType describes the answers to blocks of one type. [BlockType.Properties] returns the properties of the type.
type BlockType struct {
	Type       string      // one of the Type constants
	Answerer   Answerer    // whether the respondent or the host answers the block
	Shape      AnswerShape // the shape of a stored answer; empty if answers are not stored
	Comparison Comparison  // how answers are compared
	// MaxText is the maximum number of characters in an answer, in each part of an address or contact, or in an “Other”
	// text. A block's maxChars overrides it. A zero value means that answers contain no free text.
	MaxText int
	// Scale is the default scale of rating, opinion_scale and nps, which a block's properties can change. It is zero for
	// other types.
	Scale Scale
	// MaxRendered is the maximum number of options that a page renders: rating icons, scale steps, ranking
	// positions or days. If a block has more options, respondents type the answer. A zero value means that there is no
	// maximum, or that there are no options.
	MaxRendered int
}

// TakesAnswer reports whether blocks of the type are answered, either by the respondent or by the host.
func (k BlockType) TakesAnswer() bool { return k.Answerer != NoOne }

// IsCompared reports whether two answers to blocks of the type can be duplicates of each other.
func (k BlockType) IsCompared() bool {
	return k.Comparison != CompareNever && k.Comparison != CompareWord
}

// Answerer is the respondent, the host or no one. A block with properties.hide is always answered by the host.
type Answerer uint8

// These are the values of [Answerer].
const (
	NoOne      Answerer = iota // content, containers and controls have no stored answers
	Respondent                 // the person who fills in the form
	Host                       // the program that embeds the service, because a respondent could forge the answer
)

// AnswerShape is the shape of a stored answer. Its value is the name of a schema in the API description. For the shape
// of answers in rules, see "Data of rules" in the package documentation.
type AnswerShape string

// These are the shapes of answers.
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
	ShapeContact AnswerShape = "AddressAnswer" // for address and contact_info
	ShapePayment AnswerShape = "PaymentAnswer"
)

// Comparison defines when two answers are equal. It applies when the service checks for duplicates or erases a
// respondent.
type Comparison string

// These are the comparisons of answers. With CompareNever and CompareWord, answers are never duplicates.
const (
	CompareNever   Comparison = ""
	CompareWord    Comparison = "word"    // used only to erase respondents; ignores case
	CompareText    Comparison = "text"    // ignores case, character width and whitespace
	CompareEmail   Comparison = "email"   // like text, with the ASCII form of the domain
	ComparePhone   Comparison = "phone"   // in E.164
	CompareWebsite Comparison = "website" // ignores the scheme, a default port and one trailing slash
	CompareNumber  Comparison = "number"  // by value; the notation does not matter
	CompareChoices Comparison = "choices" // by choice IDs and “Other” texts, in any order
	CompareRanking Comparison = "ranking" // by choice IDs, in order
	CompareStored  Comparison = "stored"  // byte by byte
)

// Scale contains the numbers from From to To, inclusive, at intervals of Step.
type Scale struct{ From, To, Step float64 }

// blockTypes contains all block types, in the order of the API description. It is read-only.
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

// blockTypesByName maps the names of block types to the types. It is read-only.
var blockTypesByName = func() map[string]BlockType {
	index := make(map[string]BlockType, len(blockTypes))
	for _, k := range blockTypes {
		index[k.Type] = k
	}
	return index
}()

// LookupBlockType returns the block type with the given name. If the name is unknown, for example because a newer
// release stored the block, the result known is false and k is the zero BlockType.
func LookupBlockType(blockType string) (k BlockType, known bool) {
	k, known = blockTypesByName[blockType]
	return k, known
}

// BlockTypes iterates over all block types, in the order of the API description.
func BlockTypes() iter.Seq[BlockType] { return slices.Values(blockTypes[:]) }

// PartType returns the block type whose answers have the same format as the given part of an address or contact.
func PartType(part string) string {
	switch part {
	case TypeEmail, TypePhone, TypeCountry: // these parts have the names of their block types
		return part
	}
	return TypeShortText
}
