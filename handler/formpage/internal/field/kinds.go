package field

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/formsvc/formsvc/handler/formpage/internal/formblock"
	"github.com/formsvc/formsvc/handler/formpage/internal/policy"
	"github.com/formsvc/formsvc/handler/formpage/internal/words"
	"github.com/formsvc/formsvc/schema"
)

// draw chooses how a block is drawn: as a question with one line of text if it says no more.
func (b *builder) draw(f *Field, block *schema.Block, p *schema.Properties) {
	switch block.Type {
	case schema.TypeShortText:
		f.MaxChars = formblock.Positive(p.MaxChars)
	case schema.TypeLongText:
		f.control, f.MaxChars = (*writer).textarea, formblock.Positive(p.MaxChars)
	case schema.TypeEmail:
		f.Input, f.Complete, f.Mode, f.Reads = "email", "email", "email", true
	case schema.TypePhone:
		f.Input, f.Complete, f.Mode, f.Reads = "tel", "tel", "tel", true
		f.Callers = b.callers(f.Name, p.DefaultCountry)
	case schema.TypeWebsite:
		f.Complete, f.Mode = "url", "url"
		f.Placeholder = cmp.Or(f.Placeholder, "https://")
	case schema.TypeNumber:
		f.Mode, f.Classes, f.Reads = decimalMode(p.MinVal && p.Min != nil && *p.Min >= 0), " short", true
		f.Help = b.numberHelp(p)
	case schema.TypeCountry:
		f.control, f.Complete = (*writer).list, "country"
		f.Countries = b.countries(b.Words.Countries(), f.Name, p.DefaultCountry)
	case schema.TypeTime:
		f.Input, f.Classes = "time", " short"
		if p.ShowSeconds {
			f.Step = "1"
		}
	case schema.TypeDate:
		b.drawDate(f, block, p)
	case schema.TypeRating:
		f.Icon = rateIcon(p.Icon)
		b.scale(f)
	case schema.TypeNPS, schema.TypeOpinionScale:
		b.scale(f)
	case schema.TypeYesNo:
		f.buttons()
		f.Classes = " pair"
		b.fixed(f, "true", b.Words.Get("yes"), "false", b.Words.Get("no"))
	case schema.TypeLegal:
		f.buttons()
		if p.LegalType != nil && *p.LegalType == 1 {
			f.Input = "checkbox"
			b.fixed(f, "true", cmp.Or(p.LegalText, b.Words.Get("legal.accept")))
			break
		}
		f.Help = p.LegalText
		b.fixed(f, "true", b.Words.Get("legal.accept"), "false", b.Words.Get("legal.refuse"))
	case schema.TypeDropdown:
		f.control = (*writer).list
		b.choices(f, block, p)
	case schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice:
		f.buttons()
		if formblock.TakesSeveral(block) {
			f.Input = "checkbox"
			f.Help = b.countHelp(p)
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
		if n := formblock.Positive(p.PerRow); n > 0 && n <= 12 {
			f.Classes += " per of" + strconv.Itoa(n)
		}
		b.choices(f, block, p)
	case schema.TypeRanking:
		f.control, f.Set = (*writer).ranking, true
		f.Help = b.Words.Get("help.ranking")
		b.ranking(f, block, p)
	case schema.TypeMatrix:
		f.control, f.Set, f.Input = (*writer).matrix, true, "radio"
		if p.MultiSelection {
			f.Input = "checkbox"
		}
		b.matrix(f, block)
	case schema.TypeAddress, schema.TypeContactInfo:
		f.control, f.Set = (*writer).contact, true
		b.contact(f, block, p)
	case schema.TypeFileUpload, schema.TypeSignature:
		if b.Host.Files {
			b.drawFiles(f, block, p)
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
		f.write = (*writer).group
	case schema.TypeCaptcha:
		b.drawCaptcha(f, block)
	case schema.TypeWelcome, schema.TypeEnding:
		f.write, f.Kind, f.Link = (*writer).content, "screen", policy.Link(p.ButtonLink, "mailto", "tel")
	case schema.TypeText:
		f.write, f.Kind = (*writer).content, "prose"
	case schema.TypeStatement, schema.TypeHeading, schema.TypeImage:
		f.write = (*writer).content
	case schema.TypeVideo:
		f.write = (*writer).content
		f.Link = policy.Link(p.VideoLink)
		f.Frame, f.Video = b.Policy.Video(p.VideoLink)
	case schema.TypePDF:
		f.write, f.Link = (*writer).content, policy.Link(p.PDFLink)
	case schema.TypeEmbed:
		f.write, f.Link = (*writer).content, policy.Link(p.EmbedLink)
		f.Frame = b.Policy.Frame(p.EmbedLink)
	case schema.TypeDivider:
		f.write = (*writer).divider
	default:
		f.write = nil
	}
}

// decimalMode returns the inputmode of a number. The keys for decimals have no minus on iPhones, so
// they are only for numbers that cannot be negative.
func decimalMode(positive bool) string {
	if positive {
		return "decimal"
	}
	return ""
}

func (b *builder) numberHelp(p *schema.Properties) string {
	kind := words.Bounds(p.MinVal && p.Min != nil, p.MaxVal && p.Max != nil)
	return b.Words.Get("help."+kind, "min", formblock.Or(p.Min, 0), "max", formblock.Or(p.Max, 0))
}
