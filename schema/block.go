package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Block is one question, container, control or piece of content of a form.
//
// In this and the other typed views a member that is absent is the zero value: "" for strings, false for switches, nil
// for numbers, times, lists and objects. Numbers are pointers because 0 is a value of its own. Encoding leaves zero
// values out. A member whose content is free stays as the JSON it was sent as.
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

// TakesAnswer reports whether respondents, or the host for them, answer the block itself: it is not content, a
// container or a control. A block of an unknown type does.
func (b *Block) TakesAnswer() bool {
	k, known := LookupBlockType(b.Type)
	return !known || k.TakesAnswer()
}

// AnswerShape returns the shape of answers to the block: that of its type, but several choices for a picture_choice
// with multiSelection.
func (b *Block) AnswerShape() AnswerShape {
	if b.Type == TypePictureChoice && b.Properties != nil && b.Properties.MultiSelection {
		return ShapeChoices
	}
	k, _ := LookupBlockType(b.Type)
	return k.Shape
}

// Choice is one of the things to choose from, or a row or column of a matrix.
type Choice struct {
	ID    string          `json:"id"`
	Label string          `json:"label,omitzero"`
	Image json.RawMessage `json:"image,omitzero"` // any JSON
	Color string          `json:"color,omitzero"`
	RowID string          `json:"row_id,omitzero"`
	Alt   string          `json:"alt,omitzero"`
}

// Properties are the settings of a block. Which of them matter depends on the block's type; the others are kept.
type Properties struct {
	ButtonText   string `json:"buttonText,omitzero"`
	ButtonLink   string `json:"buttonLink,omitzero"`
	ShareButtons bool   `json:"shareButtons,omitzero"`

	MaxChars *Integer `json:"maxChars,omitzero"` // short_text and long_text: characters

	Min    *float64 `json:"min,omitzero"`    // number: smallest value; multiple_choice, picture_choice: fewest choices
	Max    *float64 `json:"max,omitzero"`    // number: largest value; multiple_choice, picture_choice: most choices
	MinVal bool     `json:"minVal,omitzero"` // whether Min counts
	MaxVal bool     `json:"maxVal,omitzero"` // whether Max counts

	DateFormat     string      `json:"dateFormat,omitzero"` // MMDDYYYY, DDMMYYYY or YYYYMMDD: how a date is shown
	DateSeparator  string      `json:"dateSeparator,omitzero"`
	DisabledDays   *Integer    `json:"disabledDays,omitzero"`  // mask of week days, bit 0 = Sunday
	BeforeDate     *time.Time  `json:"beforeDate,omitzero"`    // last day that can be chosen: the one that it has in the service's time zone
	AfterDate      *time.Time  `json:"afterDate,omitzero"`     // first day, in the same way
	SpecificDates  []time.Time `json:"specificDates,omitzero"` // the only days, in the same way
	WeekStartsOn   *Integer    `json:"weekStartsOn,omitzero"`
	ShowDatePicker bool        `json:"showDatePicker,omitzero"`
	ShowTimePicker bool        `json:"showTimePicker,omitzero"` // date: the answer has a time
	ShowSeconds    bool        `json:"showSeconds,omitzero"`    // time: the answer has seconds

	QuotationMarks bool     `json:"quotationMarks,omitzero"`
	MultiSelection bool     `json:"multiSelection,omitzero"` // picture_choice and matrix: more than one choice
	Randomize      bool     `json:"randomize,omitzero"`
	AlphaOrder     bool     `json:"alphaOrder,omitzero"`
	OtherOption    bool     `json:"otherOption,omitzero"` // choices: a text of the respondent's own
	OtherText      string   `json:"otherText,omitzero"`
	Limit          *Integer `json:"limit,omitzero"` // multiple_choice, picture_choice: most choices
	SuperSize      bool     `json:"superSize,omitzero"`
	ShowLabels     bool     `json:"showLabels,omitzero"`
	PerRow         *Integer `json:"perRow,omitzero"`
	BadgeType      string   `json:"badgeType,omitzero"` // letter or number
	ColorOption    bool     `json:"colorOption,omitzero"`

	From        *float64 `json:"from,omitzero"`      // opinion_scale: smallest value
	To          *float64 `json:"to,omitzero"`        // opinion_scale and rating: largest value
	ScaleStep   *float64 `json:"scaleStep,omitzero"` // opinion_scale: distance of two values
	FirstLabel  string   `json:"firstLabel,omitzero"`
	SecondLabel string   `json:"secondLabel,omitzero"`
	ThirdLabel  string   `json:"thirdLabel,omitzero"`
	LeftLabel   bool     `json:"leftLabel,omitzero"`
	CenterLabel bool     `json:"centerLabel,omitzero"`
	RightLabel  bool     `json:"rightLabel,omitzero"`
	Icon        string   `json:"icon,omitzero"` // the icon of a rating

	Currency       string `json:"currency,omitzero"` // payment: the only currency
	Amount         string `json:"amount,omitzero"`   // payment: the amount, a decimal number
	PaymentGateway string `json:"paymentGateway,omitzero"`

	DefaultCountry   string         `json:"defaultCountry,omitzero"` // phone, address and contact_info: whose national numbers are accepted
	ShowFields       bool           `json:"showFields,omitzero"`
	AddressOrContact *AddressFields `json:"addressOrContact,omitzero"`

	HorizontalAlign bool            `json:"horizontalAlign,omitzero"`
	VerticalAlign   bool            `json:"verticalAlign,omitzero"`
	Image           json.RawMessage `json:"image,omitzero"`      // an object, its members are free
	ImageAlign      string          `json:"imageAlign,omitzero"` // inline, float_left, float_right, split_left, split_right or cover
	AltText         bool            `json:"altText,omitzero"`
	ImageAlt        string          `json:"imageAlt,omitzero"`
	ImageWidth      *float64        `json:"imageWidth,omitzero"`
	VideoLink       string          `json:"videoLink,omitzero"`
	PDFLink         string          `json:"pdfLink,omitzero"`
	EmbedLink       string          `json:"embedLink,omitzero"`

	LegalText        string   `json:"legalText,omitzero"`
	LegalType        *Integer `json:"legalType,omitzero"`        // 0 buttons, 1 check box
	LegalStopFurther bool     `json:"legalStopFurther,omitzero"` // a false refuses the response

	CaptchaType     string `json:"captchaType,omitzero"` // none, recaptcha, hcaptcha or turnstile
	PlaceholderText string `json:"placeholderText,omitzero"`
	NumberFormat    string `json:"numberFormat,omitzero"`

	AllowedFiles  []string `json:"allowedFiles,omitzero"`  // file_upload, signature: extensions or media types; none: all
	MultipleFiles bool     `json:"multipleFiles,omitzero"` // file_upload: more than one file
	MaxFileSize   bool     `json:"maxFileSize,omitzero"`   // file_upload, signature: whether [Limits].FileSize counts

	Hide        bool            `json:"hide,omitzero"` // not shown: only the host may answer the block, or a group's children
	ShowActions bool            `json:"showActions,omitzero"`
	Rule        json.RawMessage `json:"rule,omitzero"` // top-level blocks: an object with show, require, set and next; other members are free
}

// AddressFields says which parts an address or contact_info block asks for. A part that is nil is shown and not
// required.
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

// addressParts are the names of the parts in the order of [AddressFields].
var addressParts = [...]string{
	"firstName", "lastName", "email", "phone", "company", "address", "address2", "city", "state", "zip", "country",
}

// Part returns what the fields, which may be nil, say of a part by its name in JSON.
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

// AddressField is one part of an address or contact.
type AddressField struct {
	Hide     bool `json:"hide,omitzero"`
	Required bool `json:"required,omitzero"`
}

// Image is a picture of a cover, a logo or a background.
type Image struct {
	ID     string   `json:"id,omitzero"`
	URL    string   `json:"url,omitzero"`
	Width  *Integer `json:"width,omitzero"`
	Height *Integer `json:"height,omitzero"`
	Base64 string   `json:"base64,omitzero"`
}

// Integer is a member that the API description calls integer. Definitions keep the literal a caller sent, and for JSON
// 5, 5.0 and 5e0 are the same whole number: all of them decode.
type Integer int64

// UnmarshalJSON reads a whole number within ±(2⁵³−1), however it is written.
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

// maxInteger is 2⁵³−1, the largest whole number that every JSON reader keeps.
const maxInteger = 1<<53 - 1

// DecodeBlocks reads a stored blocks section; nil is an empty one. Stored data was checked when it was written, so
// members that are not known are ignored here. An error means that raw is not what this package stores.
func DecodeBlocks(raw json.RawMessage) ([]Block, error) {
	return decodeSection[[]Block](raw, "blocks")
}

// decodeSection reads one section of a definition; nil is an empty one.
func decodeSection[T any](raw json.RawMessage, name string) (section T, err error) {
	if len(raw) == 0 {
		return section, nil
	}
	if err := json.Unmarshal(raw, &section); err != nil {
		return section, fmt.Errorf("schema: decode stored %s: %w", name, err)
	}
	return section, nil
}
