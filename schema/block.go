package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/formsvc/formsvc/internal/jsontree"
)

// Block is a question, container, control or piece of content in a form. In all Go types for definitions, a missing
// JSON field is the zero value, and encoding omits zero values. Numbers are pointers, because 0 differs from a missing
// number. Fields that accept any JSON contain the JSON as it was sent.
type Block struct {
	ID            string      `json:"id"`
	Type          string      `json:"type,omitzero"` // one of the Type constants
	Label         string      `json:"label,omitzero"`
	Description   string      `json:"description,omitzero"`
	Required      bool        `json:"required,omitzero"`
	Properties    *Properties `json:"properties,omitzero"`
	PartOf        string      `json:"part_of,omitzero"`
	RowID         string      `json:"row_id,omitzero"`
	Choices       []Choice    `json:"choices,omitzero"`
	Children      []Block     `json:"children,omitzero"`
	MatrixColumns []Choice    `json:"matrix_columns,omitzero"`
	MatrixRows    []Choice    `json:"matrix_rows,omitzero"`
}

// TakesAnswer reports whether the block is answered, either by the respondent or by the host, that is, whether it is
// not content, a container or a control. It returns true for an unknown type.
func (b *Block) TakesAnswer() bool {
	k, known := LookupBlockType(b.Type)
	return !known || k.TakesAnswer()
}

// PlainLabel returns the label without formatting. Insertions keep their braces.
func (b *Block) PlainLabel() string { return ParseText(b.Label, Formatting|Insertions).Plain() }

// AnswerShape returns the shape of answers to the block. It depends on the type, and for picture_choice on
// multiSelection.
func (b *Block) AnswerShape() AnswerShape {
	if b.Type == TypePictureChoice && b.Properties != nil && b.Properties.MultiSelection {
		return ShapeChoices
	}
	k, _ := LookupBlockType(b.Type)
	return k.Shape
}

// ListRef refers to a list of choices that the host provides.
type ListRef struct {
	List string `json:"list"` // the name of the list; empty if a block has its own choices
	// By is what the choices depend on: an answer, a hidden field or a variable, such as "answers.building".
	By string `json:"by,omitempty"`
}

// ListRef returns the field choices of the block's rule. It is zero if the block has no such field, or if its type does
// not take choices from a list.
func (b *Block) ListRef() (ref ListRef) {
	switch b.Type {
	case TypeSingleChoice, TypeMultipleChoice, TypePictureChoice, TypeDropdown:
	default:
		return ref
	}
	if b.Properties == nil || len(b.Properties.Rule) == 0 {
		return ref
	}
	return jsontree.Inspect(b.Properties.Rule, jsontree.Limits{Values: jsontree.MaxValues}, func(rule jsontree.Node) ListRef {
		choices := rule.Member("choices")
		return ListRef{strings.Clone(choices.Member("list").Text()), strings.Clone(choices.Member("by").Text())}
	})
}

// Choice is a choice of a question, or a row or column of a matrix.
type Choice struct {
	ID    string          `json:"id"`
	Label string          `json:"label,omitzero"`
	Image json.RawMessage `json:"image,omitzero"` // any JSON
	Color string          `json:"color,omitzero"`
	RowID string          `json:"row_id,omitzero"`
	Alt   string          `json:"alt,omitzero"`
}

// Properties are the properties of a block. [BlockType.Properties] lists the properties that apply to a block's type.
// Other properties are stored but have no effect.
type Properties struct {
	ButtonText   string `json:"buttonText,omitzero"`
	ButtonLink   string `json:"buttonLink,omitzero"`
	ShareButtons bool   `json:"shareButtons,omitzero"`

	MaxChars *Integer `json:"maxChars,omitzero"` // short_text and long_text: the character limit

	Min    *float64 `json:"min,omitzero"`    // number: minimum; multiple_choice, picture_choice: minimum selections
	Max    *float64 `json:"max,omitzero"`    // number: maximum; multiple_choice, picture_choice: maximum selections
	MinVal bool     `json:"minVal,omitzero"` // whether Min applies
	MaxVal bool     `json:"maxVal,omitzero"` // whether Max applies

	DateFormat     string      `json:"dateFormat,omitzero"` // how the date is displayed: MMDDYYYY, DDMMYYYY or YYYYMMDD
	DateSeparator  string      `json:"dateSeparator,omitzero"`
	DisabledDays   *Integer    `json:"disabledDays,omitzero"`  // a bit mask of weekdays, where bit 0 is Sunday
	BeforeDate     *time.Time  `json:"beforeDate,omitzero"`    // the latest allowed day, in the service's time zone
	AfterDate      *time.Time  `json:"afterDate,omitzero"`     // the earliest allowed day, in the service's time zone
	SpecificDates  []time.Time `json:"specificDates,omitzero"` // the only allowed days, in the service's time zone
	WeekStartsOn   *Integer    `json:"weekStartsOn,omitzero"`
	ShowDatePicker bool        `json:"showDatePicker,omitzero"`
	ShowTimePicker bool        `json:"showTimePicker,omitzero"` // date: whether answers include a time
	ShowSeconds    bool        `json:"showSeconds,omitzero"`    // time: whether answers include seconds

	QuotationMarks bool     `json:"quotationMarks,omitzero"`
	MultiSelection bool     `json:"multiSelection,omitzero"` // picture_choice and matrix: whether several choices can be selected
	Randomize      bool     `json:"randomize,omitzero"`
	AlphaOrder     bool     `json:"alphaOrder,omitzero"`
	OtherOption    bool     `json:"otherOption,omitzero"` // choices: whether respondents can enter their own text
	OtherText      string   `json:"otherText,omitzero"`
	Limit          *Integer `json:"limit,omitzero"` // multiple_choice, picture_choice: maximum selections
	SuperSize      bool     `json:"superSize,omitzero"`
	ShowLabels     bool     `json:"showLabels,omitzero"`
	PerRow         *Integer `json:"perRow,omitzero"`
	BadgeType      string   `json:"badgeType,omitzero"` // letter or number
	ColorOption    bool     `json:"colorOption,omitzero"`

	From        *float64 `json:"from,omitzero"`      // opinion_scale: the lowest value
	To          *float64 `json:"to,omitzero"`        // opinion_scale and rating: the highest value
	ScaleStep   *float64 `json:"scaleStep,omitzero"` // opinion_scale: the difference between adjacent values
	FirstLabel  string   `json:"firstLabel,omitzero"`
	SecondLabel string   `json:"secondLabel,omitzero"`
	ThirdLabel  string   `json:"thirdLabel,omitzero"`
	LeftLabel   bool     `json:"leftLabel,omitzero"`
	CenterLabel bool     `json:"centerLabel,omitzero"`
	RightLabel  bool     `json:"rightLabel,omitzero"`
	Icon        string   `json:"icon,omitzero"` // the icon of a rating

	Currency       string `json:"currency,omitzero"` // payment: the required currency
	Amount         string `json:"amount,omitzero"`   // payment: the required amount, a decimal number
	PaymentGateway string `json:"paymentGateway,omitzero"`

	DefaultCountry   string         `json:"defaultCountry,omitzero"` // phone, address and contact_info: the country whose national numbers are accepted
	ShowFields       bool           `json:"showFields,omitzero"`
	AddressOrContact *AddressFields `json:"addressOrContact,omitzero"`

	HorizontalAlign bool            `json:"horizontalAlign,omitzero"`
	VerticalAlign   bool            `json:"verticalAlign,omitzero"`
	Image           json.RawMessage `json:"image,omitzero"`      // an object with any fields
	ImageAlign      string          `json:"imageAlign,omitzero"` // inline, float_left, float_right, split_left, split_right or cover
	AltText         bool            `json:"altText,omitzero"`
	ImageAlt        string          `json:"imageAlt,omitzero"`
	ImageWidth      *float64        `json:"imageWidth,omitzero"`
	VideoLink       string          `json:"videoLink,omitzero"`
	PDFLink         string          `json:"pdfLink,omitzero"`
	EmbedLink       string          `json:"embedLink,omitzero"`

	LegalText        string   `json:"legalText,omitzero"`
	LegalType        *Integer `json:"legalType,omitzero"`        // 0 for buttons, 1 for a checkbox
	LegalStopFurther bool     `json:"legalStopFurther,omitzero"` // whether the answer false rejects the submission

	CaptchaType     string `json:"captchaType,omitzero"` // none, recaptcha, hcaptcha or turnstile
	PlaceholderText string `json:"placeholderText,omitzero"`
	NumberFormat    string `json:"numberFormat,omitzero"`

	AllowedFiles  []string `json:"allowedFiles,omitzero"`  // file_upload, signature: extensions or media types; if empty, all files
	MultipleFiles bool     `json:"multipleFiles,omitzero"` // file_upload: whether several files are accepted
	MaxFileSize   bool     `json:"maxFileSize,omitzero"`   // file_upload, signature: whether [Limits].FileSize applies

	Hide        bool            `json:"hide,omitzero"` // whether the block is hidden, so that only the host can answer it or its children
	ShowActions bool            `json:"showActions,omitzero"`
	Rule        json.RawMessage `json:"rule,omitzero"` // top-level blocks: an object with show, require, set and next; it can have other fields
}

// AddressFields defines the parts of an address or contact_info block. A nil part is shown and is not required.
type AddressFields struct {
	FirstName *AddressField `json:"firstName,omitzero"`
	LastName  *AddressField `json:"lastName,omitzero"`
	Email     *AddressField `json:"email,omitzero"`
	Phone     *AddressField `json:"phone,omitzero"`
	Company   *AddressField `json:"company,omitzero"`
	Address   *AddressField `json:"address,omitzero"`
	Address2  *AddressField `json:"address2,omitzero"`
	City      *AddressField `json:"city,omitzero"`
	State     *AddressField `json:"state,omitzero"`
	Zip       *AddressField `json:"zip,omitzero"`
	Country   *AddressField `json:"country,omitzero"`
}

// addressParts are the JSON names of [AddressFields], in the same order.
var addressParts = [...]string{
	"firstName", "lastName", "email", "phone", "company", "address", "address2", "city", "state", "zip", "country",
}

// Part returns the field with the given JSON name. f can be nil.
func (f *AddressFields) Part(name string) (field AddressField) {
	at := slices.Index(addressParts[:], name)
	if f == nil || at < 0 {
		return field
	}
	set := [...]*AddressField{f.FirstName, f.LastName, f.Email, f.Phone, f.Company, f.Address, f.Address2, f.City, f.State, f.Zip, f.Country}[at]
	if set != nil {
		field = *set
	}
	return field
}

// AddressField defines one part of an address or contact.
type AddressField struct {
	Hide     bool `json:"hide,omitzero"`
	Required bool `json:"required,omitzero"`
}

// Image is a cover image, a logo or a background image.
type Image struct {
	ID     string   `json:"id,omitzero"`
	URL    string   `json:"url,omitzero"`
	Width  *Integer `json:"width,omitzero"`
	Height *Integer `json:"height,omitzero"`
	Base64 string   `json:"base64,omitzero"`
}

// Integer is a whole number. Definitions store numbers as the caller wrote them, so 5, 5.0 and 5e0 all decode to 5.
type Integer int64

// UnmarshalJSON decodes a whole number from −(2⁵³−1) to 2⁵³−1, in any JSON notation.
func (i *Integer) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || n != float64(int64(n)) || n > maxInteger || n < -maxInteger {
		return fmt.Errorf("schema: %.64q is not a whole number within ±(2⁵³−1)", raw)
	}
	*i = Integer(n)
	return nil
}

// maxInteger is the largest whole number that every JSON parser decodes exactly.
const maxInteger = 1<<53 - 1

// DecodeBlocks decodes the blocks section of a stored definition. If raw is nil, the section is empty. Unknown fields
// are ignored. DecodeBlocks returns an error if raw is not in the stored format.
func DecodeBlocks(raw json.RawMessage) ([]Block, error) {
	return decodeSection[[]Block](raw, "blocks")
}

// decodeSection decodes one section of a definition.
func decodeSection[T any](raw json.RawMessage, name string) (section T, err error) {
	if len(raw) == 0 {
		return section, nil
	}
	if err := json.Unmarshal(raw, &section); err != nil {
		return section, fmt.Errorf("schema: decode stored %s: %w", name, err)
	}
	return section, nil
}

// StoredBlock is one stored top-level block, with the form's revision.
type StoredBlock struct {
	ID       string
	JSON     json.RawMessage
	Revision int64
}
