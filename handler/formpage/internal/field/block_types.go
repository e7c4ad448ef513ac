package field

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/input"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// fillByType sets up the rendering for the block's type. Types that it does not list are questions with a text input.
func (b *builder) fillByType(f *Field, block *schema.Block, p *schema.Properties) {
	switch block.Type {
	case schema.TypeShortText:
		f.MaxChars = formblock.PositiveOrZero(p.MaxChars)
	case schema.TypeLongText:
		f.control, f.MaxChars = (*writer).writeTextarea, formblock.PositiveOrZero(p.MaxChars)
	case schema.TypeEmail:
		f.Input, f.Autocomplete, f.Mode, f.ShowsInterpretation = "email", "email", "email", true
	case schema.TypePhone:
		f.Input, f.Autocomplete, f.Mode, f.ShowsInterpretation = "tel", "tel", "tel", true
		f.CallingCodes = b.callingCodeOptions(f.Name, p.DefaultCountry)
	case schema.TypeWebsite:
		f.Autocomplete, f.Mode = "url", "url"
		f.Placeholder = cmp.Or(f.Placeholder, "https://")
	case schema.TypeNumber:
		f.Mode, f.Classes, f.ShowsInterpretation = decimalMode(p.MinVal && p.Min != nil && *p.Min >= 0), " short", true
		f.Help = b.numberHelp(p)
	case schema.TypeCountry:
		f.control, f.Autocomplete = (*writer).writeSelect, "country"
		f.Countries = b.selectCountryOption(b.Words.Countries(), f.Name, p.DefaultCountry)
	case schema.TypeTime:
		f.Input, f.Classes = "time", " short"
		if p.ShowSeconds {
			f.Step = "1"
		}
	case schema.TypeDate:
		b.addDate(f, block, p)
	case schema.TypeRating:
		f.Icon = iconPath(p.Icon)
		b.addScale(f)
	case schema.TypeNPS, schema.TypeOpinionScale:
		b.addScale(f)
	case schema.TypeYesNo:
		f.useRadioButtons()
		f.Classes = " pair"
		b.addFixedOptions(f, "true", b.Words.Get("yes"), "false", b.Words.Get("no"))
	case schema.TypeLegal:
		f.useRadioButtons()
		text, html := b.text(p.LegalText, schema.Formatting)
		if p.LegalType != nil && *p.LegalType == 1 {
			f.Input = "checkbox"
			b.addFixedOptions(f, input.Consent("true", p.LegalText), cmp.Or(text, b.Words.Get("legal.accept")))
			f.Options[0].HTML = html
			break
		}
		f.Help, f.HTML.Help = text, html
		b.addFixedOptions(f, input.Consent("true", p.LegalText), b.Words.Get("legal.accept"), input.Consent("false", p.LegalText), b.Words.Get("legal.refuse"))
	case schema.TypeDropdown:
		f.control = (*writer).writeSelect
		b.addChoices(f, block, p)
	case schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice:
		f.useRadioButtons()
		if formblock.TakesMultipleChoices(block) {
			f.Input = "checkbox"
			f.Help = b.selectionCountHelp(p)
		}
		if block.Type == schema.TypePictureChoice {
			f.Classes += " pictures"
			if p.SuperSize {
				f.Classes += " super"
			}
		}
		if p.HorizontalAlign {
			f.Classes += " across"
		}
		if n := formblock.PositiveOrZero(p.PerRow); n > 0 && n <= 12 {
			f.Classes += " per of" + strconv.Itoa(n)
		}
		b.addChoices(f, block, p)
	case schema.TypeRanking:
		f.control, f.Fieldset = (*writer).writeRanking, true
		f.Help = b.Words.Get("help.ranking")
		b.addRanking(f, block, p)
	case schema.TypeMatrix:
		f.control, f.Fieldset, f.Input = (*writer).writeMatrix, true, "radio"
		if p.MultiSelection {
			f.Input = "checkbox"
		}
		b.addMatrix(f, block)
	case schema.TypeAddress, schema.TypeContactInfo:
		f.control, f.Fieldset = (*writer).writeContact, true
		b.addContact(f, block, p)
	case schema.TypeFileUpload, schema.TypeSignature:
		if b.Host.Files {
			b.addFiles(f, block, p)
			break
		}
		f.control, f.Help = nil, b.Words.Get("help.no_files")
	case schema.TypePayment:
		f.control, f.Help = nil, b.Words.Get("payment.note")
		f.Amount = strings.TrimSpace(p.Amount + " " + p.Currency)
		if block.Required && b.Host.Payments {
			f.Help += " " + b.Words.Get("payment.first")
		}
	case schema.TypeGroup:
		f.write = (*writer).writeGroup
	case schema.TypeCaptcha:
		b.addCaptcha(f, block)
	case schema.TypeWelcome, schema.TypeEnding:
		f.write, f.Kind, f.Link = (*writer).writeContent, "screen", policy.SafeLink(p.ButtonLink, "mailto", "tel")
	case schema.TypeText:
		f.write, f.Kind = (*writer).writeContent, "prose"
	case schema.TypeStatement, schema.TypeHeading, schema.TypeImage:
		f.write = (*writer).writeContent
	case schema.TypeVideo:
		f.write = (*writer).writeContent
		f.Link = policy.SafeLink(p.VideoLink)
		f.Frame, f.Video = b.Policy.AllowVideo(p.VideoLink)
	case schema.TypePDF:
		f.write, f.Link = (*writer).writeContent, policy.SafeLink(p.PDFLink)
	case schema.TypeEmbed:
		f.write, f.Link = (*writer).writeContent, policy.SafeLink(p.EmbedLink)
		f.Frame = b.Policy.AllowFrame(p.EmbedLink)
	case schema.TypeDivider:
		f.write = (*writer).writeDivider
	default:
		f.write = nil
	}
}

// decimalMode returns the inputmode for a number. The iPhone's decimal keyboard has no minus sign, so it is only used
// for positive numbers.
func decimalMode(positive bool) string {
	if positive {
		return "decimal"
	}
	return ""
}

func (b *builder) numberHelp(p *schema.Properties) string {
	kind := words.BoundsSuffix(p.MinVal && p.Min != nil, p.MaxVal && p.Max != nil)
	return b.Words.Get("help."+kind, "min", formblock.ValueOr(p.Min, 0), "max", formblock.ValueOr(p.Max, 0))
}
