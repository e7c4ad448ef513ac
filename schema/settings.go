package schema

import (
	"encoding/json"
	"time"
)

// Settings defines the behavior of a form. For missing fields see [Block].
type Settings struct {
	Branding          bool       `json:"branding,omitzero"`
	Navigation        bool       `json:"navigation,omitzero"`
	ProgressBar       bool       `json:"progressBar,omitzero"`
	SinglePage        bool       `json:"singlePage,omitzero"`
	InlineFields      bool       `json:"inlineFields,omitzero"`
	BorderRadius      *float64   `json:"borderRadius,omitzero"`
	NumberedQuestions bool       `json:"numberedQuestions,omitzero"`
	ResponseLimit     *Integer   `json:"responseLimit,omitzero"` // the number of submissions after which the form is closed
	DarkMode          bool       `json:"darkMode,omitzero"`
	Closed            bool       `json:"closed,omitzero"`
	UTM               *UTMFlags  `json:"utm,omitzero"`
	ShowTitle         bool       `json:"showTitle,omitzero"`
	OpenAt            *time.Time `json:"openAt,omitzero"`  // when the form opens
	CloseAt           *time.Time `json:"closeAt,omitzero"` // when the form closes automatically
	ClosedMessage     string     `json:"closedMessage,omitzero"`
	DuplicateField    string     `json:"duplicateField,omitzero"`   // the ID of the block whose answers must be unique in the form
	OnePerRespondent  bool       `json:"onePerRespondent,omitzero"` // accepts one submission of each respondent, and none without a respondent; no effect with Anonymous
	Anonymous         bool       `json:"anonymous,omitzero"`        // stores no respondent, user agent and device, but the time; takes precedence over OnePerRespondent
	Editable          bool       `json:"editable,omitzero"`         // lets respondents change their submissions
	RedirectURL       string     `json:"redirectUrl,omitzero"`
	SubmitLabel       string     `json:"submitLabel,omitzero"`
	Cover             *Cover     `json:"cover,omitzero"`
}

// UTMFlags selects the campaign parameters that a form page should send with a submission. The service does not enforce
// the selection, and stores all parameters that it receives.
type UTMFlags struct {
	Campaign bool `json:"campaign,omitzero"`
	Content  bool `json:"content,omitzero"`
	Medium   bool `json:"medium,omitzero"`
	Source   bool `json:"source,omitzero"`
	Term     bool `json:"term,omitzero"`
}

// Cover is the image or color at the top of a form.
type Cover struct {
	Color    string    `json:"color,omitzero"`
	Image    *Image    `json:"image,omitzero"`
	Position *Position `json:"position,omitzero"`
}

// Position is the point in a cover image that remains visible.
type Position struct {
	X *float64 `json:"x,omitzero"`
	Y *float64 `json:"y,omitzero"`
}

// DecodeSettings decodes the settings section of a stored definition, as [DecodeBlocks] decodes blocks.
func DecodeSettings(raw json.RawMessage) (Settings, error) {
	return decodeSection[Settings](raw, "settings")
}

// DecodeVariables decodes the variables of a form. Their values are float64 or string.
func DecodeVariables(raw json.RawMessage) (map[string]any, error) {
	return decodeSection[map[string]any](raw, "variables")
}

// DecodeHiddenFields decodes the names of a form's hidden fields.
func DecodeHiddenFields(raw json.RawMessage) ([]string, error) {
	return decodeSection[[]string](raw, "hidden fields")
}
