package schema

import (
	"encoding/json"
	"time"
)

// Settings is how a form behaves. For absent members see [Block].
type Settings struct {
	Branding          bool       `json:"branding,omitzero"`
	Navigation        bool       `json:"navigation,omitzero"`
	ProgressBar       bool       `json:"progressBar,omitzero"`
	SinglePage        bool       `json:"singlePage,omitzero"`
	InlineFields      bool       `json:"inlineFields,omitzero"`
	BorderRadius      *float64   `json:"borderRadius,omitzero"`
	NumberedQuestions bool       `json:"numberedQuestions,omitzero"`
	ResponseLimit     *Integer   `json:"responseLimit,omitzero"` // responses after which the form is closed
	DarkMode          bool       `json:"darkMode,omitzero"`
	Closed            bool       `json:"closed,omitzero"`
	UTM               *UTMFlags  `json:"utm,omitzero"`
	ShowTitle         bool       `json:"showTitle,omitzero"`
	CloseAt           *time.Time `json:"closeAt,omitzero"` // when the form closes by itself
	ClosedMessage     string     `json:"closedMessage,omitzero"`
	DuplicateField    string     `json:"duplicateField,omitzero"` // id of the block whose answer must be new for the form
	RedirectURL       string     `json:"redirectUrl,omitzero"`
	SubmitLabel       string     `json:"submitLabel,omitzero"`
	Cover             *Cover     `json:"cover,omitzero"`
}

// UTMFlags says which campaign parameters the page that shows a form should hand over with a response. The service does
// not check it: all parameters that are handed over are stored.
type UTMFlags struct {
	Campaign bool `json:"campaign,omitzero"`
	Content  bool `json:"content,omitzero"`
	Medium   bool `json:"medium,omitzero"`
	Source   bool `json:"source,omitzero"`
	Term     bool `json:"term,omitzero"`
}

// Cover is the picture or color at the top of a form.
type Cover struct {
	Color    string    `json:"color,omitzero"`
	Image    *Image    `json:"image,omitzero"`
	Position *Position `json:"position,omitzero"`
}

// Position is the point of a cover's image that stays in view.
type Position struct {
	X *float64 `json:"x,omitzero"`
	Y *float64 `json:"y,omitzero"`
}

// DecodeSettings reads a stored settings section, as [DecodeBlocks] does.
func DecodeSettings(raw json.RawMessage) (Settings, error) {
	return decodeSection[Settings](raw, "settings")
}
