package schema

import "encoding/json"

// Theme defines the appearance of a form. For missing fields see [Block].
type Theme struct {
	Logo          *Image         `json:"logo,omitzero"`
	Background    *Background    `json:"background,omitzero"`
	Colors        *Colors        `json:"colors,omitzero"`
	Alignment     *Alignment     `json:"alignment,omitzero"`
	Size          *TextSize      `json:"size,omitzero"`
	Font          string         `json:"font,omitzero"`
	Corners       *float64       `json:"corners,omitzero"`
	LogoPlacement *LogoPlacement `json:"logoPlacement,omitzero"`
	Layout        *Layout        `json:"layout,omitzero"`
	LogoSize      *LogoSize      `json:"logoSize,omitzero"`
	CoverHeight   string         `json:"coverHeight,omitzero"`
	Inputs        *InputStyle    `json:"inputs,omitzero"`
	Buttons       *ButtonStyle   `json:"buttons,omitzero"`
	CustomCSS     string         `json:"customCss,omitzero"`
	Theme         string         `json:"theme,omitzero"` // the name of the theme on which this theme is based
}

// Background is the background of a form.
type Background struct {
	Brightness *float64 `json:"brightness,omitzero"`
	Layout     string   `json:"layout,omitzero"`
	Image      *Image   `json:"image,omitzero"`
}

// Colors contains the colors of a form in light mode. Dark contains the colors in dark mode.
type Colors struct {
	Palette

	Dark *Palette `json:"dark,omitzero"`
}

// Palette is a set of colors, each in CSS notation: # and 3, 4, 6 or 8 hexadecimal digits.
type Palette struct {
	Background               string `json:"background,omitzero"`
	Foreground               string `json:"foreground,omitzero"`
	Card                     string `json:"card,omitzero"`
	CardForeground           string `json:"cardForeground,omitzero"`
	Popover                  string `json:"popover,omitzero"`
	PopoverForeground        string `json:"popoverForeground,omitzero"`
	Primary                  string `json:"primary,omitzero"`
	PrimaryForeground        string `json:"primaryForeground,omitzero"`
	Secondary                string `json:"secondary,omitzero"`
	SecondaryForeground      string `json:"secondaryForeground,omitzero"`
	Muted                    string `json:"muted,omitzero"`
	MutedForeground          string `json:"mutedForeground,omitzero"`
	Accent                   string `json:"accent,omitzero"`
	AccentForeground         string `json:"accentForeground,omitzero"`
	Destructive              string `json:"destructive,omitzero"`
	DestructiveForeground    string `json:"destructiveForeground,omitzero"`
	Border                   string `json:"border,omitzero"`
	Input                    string `json:"input,omitzero"`
	Ring                     string `json:"ring,omitzero"`
	Text                     string `json:"text,omitzero"`
	Chart1                   string `json:"chart1,omitzero"`
	Chart2                   string `json:"chart2,omitzero"`
	Chart3                   string `json:"chart3,omitzero"`
	Chart4                   string `json:"chart4,omitzero"`
	Chart5                   string `json:"chart5,omitzero"`
	Sidebar                  string `json:"sidebar,omitzero"`
	SidebarForeground        string `json:"sidebarForeground,omitzero"`
	SidebarPrimary           string `json:"sidebarPrimary,omitzero"`
	SidebarPrimaryForeground string `json:"sidebarPrimaryForeground,omitzero"`
	SidebarAccent            string `json:"sidebarAccent,omitzero"`
	SidebarAccentForeground  string `json:"sidebarAccentForeground,omitzero"`
	SidebarBorder            string `json:"sidebarBorder,omitzero"`
	SidebarRing              string `json:"sidebarRing,omitzero"`
}

// Alignment is the alignment of text. The renderer defines the meaning of the numbers.
type Alignment struct {
	WelcomeAndEndings *float64 `json:"welcomeAndEndings,omitzero"`
	Questions         *float64 `json:"questions,omitzero"`
	Logo              *float64 `json:"logo,omitzero"`
}

// TextSize is the size of text. The renderer defines the meaning of the numbers.
type TextSize struct {
	WelcomeAndEndings *float64 `json:"welcomeAndEndings,omitzero"`
	Questions         *float64 `json:"questions,omitzero"`
}

// LogoPlacement is the position of the logo.
type LogoPlacement struct {
	Align    string `json:"align,omitzero"`
	Vertical string `json:"vertical,omitzero"`
}

// Layout is the width of the page and the base text size.
type Layout struct {
	PageWidth    string `json:"pageWidth,omitzero"`
	BaseFontSize string `json:"baseFontSize,omitzero"`
}

// LogoSize is the size of the logo.
type LogoSize struct {
	Width  *float64 `json:"width,omitzero"`
	Height *float64 `json:"height,omitzero"`
	Radius *float64 `json:"radius,omitzero"`
}

// InputStyle defines the appearance of input fields. The colors can be any strings.
type InputStyle struct {
	Width        string   `json:"width,omitzero"`
	Height       string   `json:"height,omitzero"`
	Background   string   `json:"background,omitzero"`
	Placeholder  string   `json:"placeholder,omitzero"`
	Border       string   `json:"border,omitzero"`
	BorderWidth  *float64 `json:"borderWidth,omitzero"`
	Radius       *float64 `json:"radius,omitzero"`
	MarginBottom *float64 `json:"marginBottom,omitzero"`
	PaddingX     *float64 `json:"paddingX,omitzero"`
}

// ButtonStyle defines the appearance of buttons. The colors can be any strings.
type ButtonStyle struct {
	Width      string   `json:"width,omitzero"`
	Height     string   `json:"height,omitzero"`
	Alignment  string   `json:"alignment,omitzero"`
	Background string   `json:"background,omitzero"`
	Text       string   `json:"text,omitzero"`
	FontSize   *float64 `json:"fontSize,omitzero"`
	Radius     *float64 `json:"radius,omitzero"`
	MarginY    *float64 `json:"marginY,omitzero"`
	PaddingX   *float64 `json:"paddingX,omitzero"`
}

// DecodeTheme decodes the theme section of a stored definition, as [DecodeBlocks] decodes blocks.
func DecodeTheme(raw json.RawMessage) (Theme, error) {
	return decodeSection[Theme](raw, "theme")
}
