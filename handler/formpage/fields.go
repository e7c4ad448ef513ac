package formpage

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"html/template"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/formsvc/formsvc/schema"
)

// field is one block with everything that its HTML needs.
type field struct {
	page *pageView

	Type  string // of the block
	Kind  string // which template draws it
	Set   bool   // it has several controls: drawn as a fieldset
	ID    string // of the element, the start of the ids of its parts
	Block string // the block's id
	Level int    // of its heading

	Label, Description string
	Number             int // zero: not numbered
	Required           bool
	Fault              string
	Help               string // a sentence on what is expected
	Image              *picture
	ImageAlign         string
	P                  *schema.Properties

	Name, Value  string
	Input        string // type of the input
	Mode         string // its inputmode
	Complete     string // its autocomplete
	Placeholder  string
	Min, Max     string
	MaxChars     int
	Options      []option
	Other        *other
	Rows         []row
	Columns      []option
	Parts        []field
	Children     []field
	Low, Mid, Hi string // labels of a scale
	Icon         string
	PerRow       int
	Link         template.URL
	Host         string        // of the embed
	Sep          string        // between the parts of a date
	Frame        string        // address of an embed
	Video        string        // address of a video file
	Zone         string        // name of the input for the browser's offset
	Countries    template.HTML // the options of a country field
	Stored       []shownFile
	Widget       *Widget
	Accept       string
	Several      bool
	Remove       string // name of the buttons that take a file back
	Amount       string // of a payment, with its currency
	Classes      string
}

// T returns a text in the page's language.
func (f field) T(key string, params ...any) string { return f.page.T(key, params...) }

// Described lists the ids of what describes the field's control.
func (f field) Described() string {
	var list []string
	if f.Description != "" {
		list = append(list, f.ID+"-d")
	}
	if f.Help != "" {
		list = append(list, f.ID+"-h")
	}
	if f.Fault != "" {
		list = append(list, f.ID+"-e")
	}
	return strings.Join(list, " ")
}

type option struct {
	ID, Name, Value, Label string
	Badge                  string
	Color                  string // class of its swatch
	Image                  *picture
	Chosen                 bool
	Places                 []option // ranking: the places that it may have
}

type other struct {
	ID, Name, Label, Text string
	Chosen                bool
	Badge                 string
}

type row struct {
	ID, Label, Fault string
	Options          []option
}

type picture struct {
	URL           template.URL
	Alt           string
	Width, Height int
}

func (b *builder) fields(blocks []schema.Block, level int) []field {
	var list []field
	for i := range blocks {
		block := &blocks[i]
		if properties(block).Hide || block.Type == schema.TypeEnding || block.Type == schema.TypePageBreak {
			continue
		}
		list = append(list, b.field(block, level))
	}
	return list
}

// field makes the view of one block.
func (b *builder) field(block *schema.Block, level int) field {
	p := properties(block)
	f := field{
		page: b.view, Type: block.Type, ID: b.element(block.ID), Block: block.ID, Level: level, P: p,
		Label: block.Label, Description: block.Description, Required: block.Required, Number: b.numbers[block.ID],
		Name: nameAnswer + block.ID, Placeholder: p.PlaceholderText, Input: "text",
	}
	if block.Label == "" && takesAnswer(block.Type) {
		f.Label = b.c.words.get("type." + block.Type)
	}
	f.Image = b.picture(p.Image, p.ImageAlt)
	if p.ImageWidth != nil && f.Image != nil && *p.ImageWidth > 0 {
		b.view.Theme.addRule("#"+f.ID+" .pic img", "width:"+length(math.Min(*p.ImageWidth, 4000)))
	}
	if f.Image != nil {
		f.ImageAlign = cmp.Or(p.ImageAlign, "inline")
	}
	b.used["#"+block.ID] = true
	b.draw(&f, block, p)
	if takesAnswer(block.Type) {
		if f.Remove == "" {
			f.Value = b.value(f.Name)
		}
		b.fault(&f, block)
	}
	if b.c.form.Settings.InlineFields && !b.view.Single {
		f.Classes += " inline"
	}
	return f
}

// value returns what was typed into an input, and marks the input as shown.
func (b *builder) value(name string) string {
	b.used[name] = true
	return b.c.values.Get(name)
}

// fault words what is wrong with a field and adds it to the summary. Faults of a part
// or row stand beside that.
func (b *builder) fault(f *field, block *schema.Block) {
	faults := b.faults[block.ID]
	if len(faults) == 0 {
		return
	}
	target, text := f.ID, ""
	for _, v := range faults {
		sub := lastPart(v.Path)
		if i := slices.IndexFunc(f.Parts, func(p field) bool { return p.Block == sub }); i >= 0 && f.Kind == "contact" {
			part := &f.Parts[i]
			if part.Fault == "" {
				part.Fault = b.c.faultText(v, part)
				b.problems = append(b.problems, problem{part.ID, f.Label + ": " + part.Label, part.Fault})
			}
			continue
		}
		if i := slices.IndexFunc(f.Rows, func(r row) bool { return r.ID == f.ID+"-r"+sub }); i >= 0 && f.Kind == "matrix" {
			continue
		}
		if text == "" {
			text = b.c.faultText(v, f)
		}
	}
	if text == "" && f.Kind == "contact" {
		return
	}
	if text == "" {
		text = b.c.faultText(faults[0], f)
	}
	f.Fault = text
	b.problems = append(b.problems, problem{target, f.Label, text})
}

// lastPart is the last part of a JSON Pointer that goes into an answer, "" for the
// answer itself.
func lastPart(pointer string) string {
	parts := strings.Split(pointer, "/")
	if len(parts) < 4 {
		return ""
	}
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[3])
}

// draw chooses how a block is drawn.
func (b *builder) draw(f *field, block *schema.Block, p *schema.Properties) {
	f.Kind = "text"
	switch block.Type {
	case schema.TypeShortText:
		f.MaxChars = positive(p.MaxChars)
	case schema.TypeLongText:
		f.Kind, f.MaxChars = "textarea", positive(p.MaxChars)
	case schema.TypeEmail:
		f.Input, f.Complete, f.Mode = "email", "email", "email"
	case schema.TypePhone:
		f.Input, f.Complete, f.Mode = "tel", "tel", "tel"
	case schema.TypeWebsite:
		f.Complete, f.Mode = "url", "url"
		f.Placeholder = cmp.Or(f.Placeholder, "https://")
	case schema.TypeNumber:
		f.Mode, f.Classes = "decimal", " short"
		f.Help = b.numberHelp(p)
	case schema.TypeCountry:
		f.Kind, f.Complete = "select", "country"
		f.Countries = b.countries(nameAnswer+block.ID, p.DefaultCountry)
	case schema.TypeTime:
		f.Input, f.Classes = "time", " short"
		if p.ShowSeconds {
			f.Max = "1" // the step
		}
	case schema.TypeDate:
		b.drawDate(f, block, p)
	case schema.TypeRating:
		f.Kind, f.Set, f.Icon = "icons", true, rateIcon(p.Icon)
		b.scale(f, 1, math.Floor(math.Max(1, or(p.To, 5))), 1)
	case schema.TypeNPS:
		f.Kind, f.Set = "scale", true
		b.scale(f, 0, 10, 1)
	case schema.TypeOpinionScale:
		f.Kind, f.Set = "scale", true
		b.scale(f, or(p.From, 1), or(p.To, 10), or(p.ScaleStep, 1))
	case schema.TypeYesNo:
		f.Kind, f.Set, f.Input, f.Classes = "choices", true, "radio", " pair"
		f.Options = b.fixed(f.Name, "true", b.c.words.get("yes"), "false", b.c.words.get("no"))
	case schema.TypeLegal:
		f.Kind, f.Set, f.Input = "choices", true, "radio"
		if p.LegalType != nil && *p.LegalType == 1 {
			f.Input = "checkbox"
			f.Options = b.fixed(f.Name, "true", cmp.Or(p.LegalText, b.c.words.get("legal.accept")))
			break
		}
		f.Help = p.LegalText
		f.Options = b.fixed(f.Name, "true", b.c.words.get("legal.accept"), "false", b.c.words.get("legal.refuse"))
	case schema.TypeDropdown:
		f.Kind = "select"
		b.choices(f, block, p)
	case schema.TypeSingleChoice, schema.TypeMultipleChoice, schema.TypePictureChoice:
		f.Kind, f.Set, f.Input = "choices", true, "radio"
		if takesSeveral(block) {
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
		if f.PerRow = positive(p.PerRow); f.PerRow > 0 && f.PerRow <= 12 {
			f.Classes += " per" + strconv.Itoa(f.PerRow)
		}
		b.choices(f, block, p)
	case schema.TypeRanking:
		f.Kind, f.Set = "ranking", true
		f.Help = b.c.words.get("help.ranking")
		b.ranking(f, block, p)
	case schema.TypeMatrix:
		f.Kind, f.Set, f.Input = "matrix", true, "radio"
		if p.MultiSelection {
			f.Input = "checkbox"
		}
		b.matrix(f, block)
	case schema.TypeAddress, schema.TypeContactInfo:
		f.Kind, f.Set = "contact", true
		b.contact(f, block, p)
	case schema.TypeFileUpload, schema.TypeSignature:
		if b.c.files() != nil {
			b.drawFiles(f, block, p)
			break
		}
		f.Kind = "unavailable"
		f.Help = b.c.words.get("help.no_files")
		b.c.h.warnOnce(&b.c.form, "a form asks for files, and formpage has no place for them", "block", block.ID)
	case schema.TypePayment:
		f.Kind = "payment"
		f.Amount = strings.TrimSpace(p.Amount + " " + p.Currency)
	case schema.TypeGroup:
		f.Kind, f.Set = "group", true
		f.Children = b.fields(block.Children, f.Level+1)
	case schema.TypeCaptcha:
		b.drawCaptcha(f, block, p)
	case schema.TypeWelcome, schema.TypeEnding:
		f.Kind, f.Link = "screen", webLink(p.ButtonLink, "mailto", "tel")
	case schema.TypeStatement:
		f.Kind = "statement"
	case schema.TypeHeading:
		f.Kind = "heading"
	case schema.TypeText:
		f.Kind = "prose"
	case schema.TypeImage:
		f.Kind = "image"
	case schema.TypeVideo:
		f.Kind = "video"
		b.video(f, p.VideoLink)
	case schema.TypePDF:
		f.Kind, f.Link = "pdf", webLink(p.PDFLink)
	case schema.TypeEmbed:
		f.Kind, f.Link = "embed", webLink(p.EmbedLink)
		f.Frame = b.policy.frame(p.EmbedLink)
		f.Host = strings.TrimPrefix(strings.TrimPrefix(originOf(p.EmbedLink), "https://"), "http://")
	case schema.TypeDivider:
		f.Kind = "divider"
	default:
		f.Kind = "nothing"
	}
}

func (b *builder) numberHelp(p *schema.Properties) string {
	low, high := p.MinVal && p.Min != nil, p.MaxVal && p.Max != nil
	switch {
	case low && high:
		return b.c.words.get("help.between", "min", *p.Min, "max", *p.Max)
	case low:
		return b.c.words.get("help.min", "min", *p.Min)
	case high:
		return b.c.words.get("help.max", "max", *p.Max)
	}
	return ""
}

// countHelp says how many choices are asked for.
func (b *builder) countHelp(p *schema.Properties) string {
	low, high := chosenBounds(p)
	switch {
	case low > 0 && high == low:
		return b.c.words.get("help.choose_exactly", "min", low)
	case low > 0 && high > 0:
		return b.c.words.get("help.choose_between", "min", low, "max", high)
	case low > 0:
		return b.c.words.get("help.choose_min", "min", low)
	case high > 0:
		return b.c.words.get("help.choose_max", "max", high)
	}
	return b.c.words.get("help.choose_any")
}

// chosenBounds are the fewest and the most choices, 0 where there is no bound.
func chosenBounds(p *schema.Properties) (low, high int) {
	if p.MinVal && p.Min != nil {
		low = int(math.Ceil(*p.Min))
	}
	if p.MaxVal && p.Max != nil {
		high = int(math.Floor(*p.Max))
	}
	if n := positive(p.Limit); n > 0 && (high == 0 || n < high) {
		high = n
	}
	return max(low, 0), max(high, 0)
}

// fixed makes options of values and labels in turn.
func (b *builder) fixed(name string, pairs ...string) []option {
	chosen := b.value(name)
	var list []option
	for pair := range slices.Chunk(pairs, 2) {
		value, label := pair[0], pair[len(pair)-1]
		list = append(list, option{Name: name, Value: value, Label: label, Chosen: chosen == value})
	}
	return list
}

// maxSteps bounds how many buttons a scale gets. A longer one is a number to type.
const maxSteps = 101

func (b *builder) scale(f *field, from, to, step float64) {
	p := f.P
	if p.LeftLabel || f.Type == schema.TypeNPS {
		f.Low = p.FirstLabel
	}
	if p.CenterLabel {
		f.Mid = p.SecondLabel
	}
	if p.RightLabel || f.Type == schema.TypeNPS {
		f.Hi = p.ThirdLabel
	}
	if step <= 0 {
		step = 1
	}
	n := int(math.Floor((to-from)/step+1e-9)) + 1
	if n < 1 || n > maxSteps || f.Kind == "icons" && n > 20 {
		f.Kind, f.Set, f.Mode, f.Classes = "text", false, "decimal", " short"
		f.Help = b.c.words.get("help.between", "min", from, "max", to)
		return
	}
	if n > 11 {
		f.Classes += " many"
	} else if n > 7 {
		f.Classes += " n" + strconv.Itoa(n)
	}
	chosen := b.value(f.Name)
	for i := range n {
		value := plainNumber(from + float64(i)*step)
		label := b.c.words.number(value)
		f.Options = append(f.Options, option{Name: f.Name, Value: value, Label: label, Chosen: chosen == value})
	}
}

// plainNumber writes a number without the traces of its binary fraction.
func plainNumber(n float64) string {
	return strconv.FormatFloat(math.Round(n*1e9)/1e9, 'f', -1, 64)
}

// choices makes the options of a block in the order that it asks for.
func (b *builder) choices(f *field, block *schema.Block, p *schema.Properties) {
	posted := b.c.values[f.Name]
	b.used[f.Name] = true
	for i, c := range b.ordered(block, p) {
		o := option{
			ID: f.ID + "-" + strconv.Itoa(i), Name: f.Name, Value: pickedPrefix + c.ID, Label: c.Label,
			Chosen: slices.Contains(posted, pickedPrefix+c.ID),
		}
		if block.Type == schema.TypePictureChoice || len(c.Image) > 0 {
			o.Image = b.picture(c.Image, cmp.Or(c.Alt, ""))
		}
		if o.Label == "" {
			o.Label = cmp.Or(c.Alt, c.ID)
		}
		if p.ColorOption && c.Color != "" {
			if color, ok := cssColor(c.Color); ok {
				o.Color = "c" + strconv.Itoa(b.index[block.ID]) + "-" + strconv.Itoa(i)
				b.view.Theme.addRule("."+o.Color, "background:"+color)
			}
		}
		o.Badge = badge(p.BadgeType, i)
		f.Options = append(f.Options, o)
	}
	if block.Type == schema.TypePictureChoice && !p.ShowLabels && pictured(f.Options) {
		f.Classes += " unlabelled"
	}
	if p.OtherOption {
		name := nameOther + block.ID
		f.Other = &other{
			ID: f.ID + "-o", Name: name, Label: cmp.Or(p.OtherText, b.c.words.get("other")), Text: b.value(name),
			Chosen: slices.Contains(posted, pickedOther), Badge: badge(p.BadgeType, len(f.Options)),
		}
	}
}

// pictured reports whether every choice has a picture, so that labels may be left out.
func pictured(options []option) bool {
	return !slices.ContainsFunc(options, func(o option) bool { return o.Image == nil })
}

// badge is the mark in front of the choice with an index.
func badge(kind string, i int) string {
	switch {
	case kind == "letter" && i < 26:
		return string(rune('A' + i))
	case kind == "letter" || kind == "number":
		return strconv.Itoa(i + 1)
	}
	return ""
}

// ordered returns the choices as given, in the order of the alphabet, or mixed: in the
// same way for one visit, so that going back changes nothing.
func (b *builder) ordered(block *schema.Block, p *schema.Properties) []schema.Choice {
	list := slices.Clone(block.Choices)
	switch {
	case p.Randomize:
		mixed := fnv.New64a()
		_, _ = mixed.Write([]byte(b.c.visit.Key + "\x00" + block.ID))
		random := rand.New(rand.NewPCG(mixed.Sum64(), 1)) //nolint:gosec // the order of choices is no secret
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	case p.AlphaOrder:
		by := collate.New(language.Make(b.c.words.tag), collate.IgnoreCase)
		slices.SortStableFunc(list, func(x, y schema.Choice) int { return by.CompareString(x.Label, y.Label) })
	}
	return list
}

func (b *builder) ranking(f *field, block *schema.Block, p *schema.Properties) {
	choices := b.ordered(block, p)
	for i, c := range choices {
		name := subName(nameRank, c.ID, block.ID)
		o := option{ID: f.ID + "-" + strconv.Itoa(i), Name: name, Label: cmp.Or(c.Label, c.ID), Value: b.value(name)}
		for n := range choices {
			place := strconv.Itoa(n + 1)
			o.Places = append(o.Places, option{Value: place, Label: b.c.words.number(place), Chosen: o.Value == place})
		}
		f.Options = append(f.Options, o)
	}
	// What was ordered already is shown in its order.
	slices.SortStableFunc(f.Options, func(x, y option) int { return cmp.Compare(place(x.Value), place(y.Value)) })
}

func place(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return math.MaxInt
}

func (b *builder) matrix(f *field, block *schema.Block) {
	for _, c := range block.MatrixColumns {
		f.Columns = append(f.Columns, option{Label: cmp.Or(c.Label, c.ID)})
	}
	if n := len(f.Columns); n > 0 && n <= 12 {
		f.Classes += " cols" + strconv.Itoa(n)
	}
	for i, r := range block.MatrixRows {
		name := subName(nameRow, r.ID, block.ID)
		b.used[name] = true
		posted := b.c.values[name]
		line := row{ID: f.ID + "-r" + strconv.Itoa(i), Label: cmp.Or(r.Label, r.ID)}
		for _, c := range block.MatrixColumns {
			line.Options = append(line.Options, option{
				Name: name, Value: pickedPrefix + c.ID, Label: cmp.Or(c.Label, c.ID),
				Chosen: slices.Contains(posted, pickedPrefix+c.ID),
			})
		}
		f.Rows = append(f.Rows, line)
	}
}

// partCompletes are the autocomplete tokens of the parts of an address.
var partCompletes = map[string]string{
	"firstName": "given-name", "lastName": "family-name", "email": "email", "phone": "tel", "company": "organization",
	"address": "address-line1", "address2": "address-line2", "zip": "postal-code", "city": "address-level2",
	"state": "address-level1", "country": "country",
}

func (b *builder) contact(f *field, block *schema.Block, p *schema.Properties) {
	for i, name := range contactParts {
		set := contactPart(p.AddressOrContact, name)
		if set.Hide {
			continue
		}
		part := field{
			page: b.view, Kind: "text", Input: "text", ID: f.ID + "-p" + strconv.Itoa(i), Block: name,
			Label: b.c.words.get("part." + name), Required: set.Required,
			Name: subName(namePart, name, block.ID), Complete: partCompletes[name], Classes: " part " + name,
		}
		switch name {
		case "email":
			part.Input = "email"
		case "phone":
			part.Input = "tel"
		case "country":
			part.Kind = "select"
			part.Countries = b.countries(part.Name, p.DefaultCountry)
		}
		part.Value = b.value(part.Name)
		f.Parts = append(f.Parts, part)
	}
}

// drawDate draws a date as one input, which browsers show in the visitor's way with a
// calendar, or as three in the order that the form asks for.
func (b *builder) drawDate(f *field, block *schema.Block, p *schema.Properties) {
	f.Kind, f.Input, f.Classes = "date", "date", " short"
	location := b.c.h.config.Location
	if p.AfterDate != nil {
		f.Min = p.AfterDate.In(location).Format(time.DateOnly)
	}
	if p.BeforeDate != nil {
		f.Max = p.BeforeDate.In(location).Format(time.DateOnly)
	}
	f.Help = b.dateHelp(f.Min, f.Max)
	order, split := map[string]string{"DDMMYYYY": "dmy", "MMDDYYYY": "mdy", "YYYYMMDD": "ymd"}[p.DateFormat]
	split = split && !p.ShowDatePicker
	if split || p.ShowTimePicker {
		f.Set = true
	}
	part := func(prefix, word, kind string) field {
		name := prefix + block.ID
		return field{
			page: b.view, ID: f.ID + "-" + strings.TrimSuffix(prefix, ".") + "1", Name: name, Label: b.c.words.get(word), Input: kind,
			Required: block.Required, Value: b.value(name),
		}
	}
	if split {
		for _, c := range order {
			switch c {
			case 'd':
				f.Parts = append(f.Parts, part(nameDay, "date.day", "text"))
			case 'm':
				f.Parts = append(f.Parts, part(nameMonth, "date.month", "text"))
			case 'y':
				f.Parts = append(f.Parts, part(nameYear, "date.year", "text"))
			}
		}
		b.splitDate(f, block)
		f.Sep = strings.TrimSpace(p.DateSeparator)
	} else if f.Set {
		f.Parts = append(f.Parts, part(nameAnswer, "date.date", "date"))
		f.Parts[0].Min, f.Parts[0].Max = f.Min, f.Max
	}
	if p.ShowTimePicker {
		f.Parts = append(f.Parts, part(nameTime, "date.time", "time"))
		f.Zone = nameZone + block.ID
		b.used[f.Zone] = true
	}
	if f.Set {
		f.Kind = "dateparts"
	}
}

// splitDate fills the three inputs from a date in one, as a link prefills it.
func (b *builder) splitDate(f *field, block *schema.Block) {
	day, err := time.Parse(time.DateOnly, b.value(nameAnswer+block.ID))
	if err != nil {
		return
	}
	for i := range f.Parts {
		part := &f.Parts[i]
		if part.Value != "" {
			continue
		}
		switch {
		case strings.HasPrefix(part.Name, nameDay):
			part.Value = strconv.Itoa(day.Day())
		case strings.HasPrefix(part.Name, nameMonth):
			part.Value = strconv.Itoa(int(day.Month()))
		case strings.HasPrefix(part.Name, nameYear):
			part.Value = strconv.Itoa(day.Year())
		}
	}
}

func (b *builder) dateHelp(low, high string) string {
	low, high = b.c.words.date(low), b.c.words.date(high)
	switch {
	case low != "" && high != "":
		return b.c.words.get("help.date_between", "min", low, "max", high)
	case low != "":
		return b.c.words.get("help.date_min", "min", low)
	case high != "":
		return b.c.words.get("help.date_max", "max", high)
	}
	return ""
}

// picture reads a free JSON value that may be an image: an address, or an object with
// one. Others are no picture.
func (b *builder) picture(raw json.RawMessage, alt string) *picture {
	if len(raw) == 0 {
		return nil
	}
	var image schema.Image
	if json.Unmarshal(raw, &image.URL) != nil && json.Unmarshal(raw, &image) != nil {
		return nil
	}
	return b.policy.picture(&image, alt)
}

func or(n *float64, fallback float64) float64 {
	if n == nil {
		return fallback
	}
	return *n
}

// positive returns n where it is above 0, else 0.
func positive(n *schema.Integer) int {
	if n == nil || *n <= 0 || *n > math.MaxInt32 {
		return 0
	}
	return int(*n)
}
