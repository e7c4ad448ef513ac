package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

func ExampleDecodeBlocks() {
	blocks, err := schema.DecodeBlocks(json.RawMessage(`[{"id":"who","type":"short_text","label":"Who are you?","required":true}]`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(blocks[0].Label, blocks[0].Required, blocks[0].TakesAnswer())
	// Output: Who are you? true true
}

// Every kind of answer is a Go type.
func ExampleDecodeAnswers() {
	answers, err := schema.DecodeAnswers(json.RawMessage(`[
		{"field":{"id":"when","type":"date","label":"When?"},"value":"2026-11-20"},
		{"field":{"id":"what","type":"multiple_choice","label":"What?"},"value":[{"id":"a","label":"Tea"},{"other":"Cocoa"}]},
		{"field":{"id":"ref","type":"hidden","label":"ref"},"value":"newsletter"}]`))
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range answers {
		switch v := a.Value.(type) {
		case schema.Date:
			fmt.Println(a.ID, v.Time.Weekday())
		case schema.Picks:
			fmt.Println(a.ID, len(v), v[0].ID)
		default:
			fmt.Println(a.ID, v)
		}
	}
	// Output:
	// when Friday
	// what 2 a
	// ref newsletter
}

// Every kind of value, as a host's own export tells them apart.
func ExampleValue() {
	answers, err := schema.DecodeAnswers(json.RawMessage(`[
		{"field":{"id":"name","type":"short_text","label":"Name"},"value":"Ann"},
		{"field":{"id":"score","type":"nps","label":"Score"},"value":9},
		{"field":{"id":"terms","type":"legal","label":"Terms","text":"I accept the terms (https://example.com/terms)."},"value":true},
		{"field":{"id":"day","type":"date","label":"Day"},"value":"2026-11-20"},
		{"field":{"id":"meals","type":"multiple_choice","label":"Meals"},"value":[{"id":"a","label":"Lunch"},{"other":"Tea"}]},
		{"field":{"id":"grid","type":"matrix","label":"Grid"},"value":{"speed":[{"id":"good","label":"Good"}]}},
		{"field":{"id":"who","type":"contact_info","label":"Who"},"value":{"firstName":"Ann","email":"ann@example.com"}},
		{"field":{"id":"cv","type":"file_upload","label":"CV"},"value":[{"id":"f1","name":"cv.pdf","url":"https://files.example.com/f1","mime_type":"application/pdf","size":1024}]},
		{"field":{"id":"pay","type":"payment","label":"Fee"},"value":{"amount":"10.00","currency":"EUR","status":"paid","gateway":"bank","reference":"r1"}},
		{"field":{"id":"new","type":"of_a_newer_release","label":"New"},"value":{"x":1}}]`))
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range answers {
		switch v := a.Value.(type) {
		case schema.String:
			fmt.Println("text:", v)
		case schema.Number:
			fmt.Println("number:", float64(v)+1)
		case schema.Bool:
			fmt.Println("yes or no:", bool(v))
		case schema.Date:
			fmt.Println("day:", v.Time.Weekday(), v.HasTime)
		case schema.Picks:
			for _, p := range v {
				if p.Other != "" {
					fmt.Println("choice: of their own:", p.Other)
				} else {
					fmt.Println("choice:", p.ID, p.Label)
				}
			}
		case schema.Matrix:
			for _, row := range v {
				fmt.Println("row:", row.ID, row.Picks)
			}
		case schema.Contact:
			for _, part := range v.Parts() {
				if part.Text != "" {
					fmt.Println("part:", part.Name, part.Text)
				}
			}
		case schema.Files:
			for _, f := range v {
				fmt.Println("file:", f.Name, f.MIMEType, f.Size)
			}
		case schema.Payment:
			fmt.Println("payment:", v.Amount, v.Currency, v.Status)
		case schema.Other:
			fmt.Println("as JSON:", v)
		}
	}
	// Output:
	// text: Ann
	// number: 10
	// yes or no: true
	// day: Friday false
	// choice: a Lunch
	// choice: of their own: Tea
	// row: speed Good
	// part: firstName Ann
	// part: email ann@example.com
	// file: cv.pdf application/pdf 1024
	// payment: 10.00 EUR paid
	// as JSON: {"x":1}
}

// A builder writes a block with its properties.
func ExampleBlock() {
	most := schema.Integer(120)
	for _, block := range []schema.Block{
		{ID: "name", Type: schema.TypeShortText, Required: true, Properties: &schema.Properties{MaxChars: &most}},
		{ID: "home", Type: schema.TypeAddress, Properties: &schema.Properties{AddressOrContact: &schema.AddressFields{
			City: &schema.AddressField{Required: true}, State: &schema.AddressField{Hide: true},
		}}},
	} {
		text, err := json.Marshal(block) // for Client.CreateBlock
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(string(text))
	}
	// Output:
	// {"id":"name","type":"short_text","required":true,"properties":{"maxChars":120}}
	// {"id":"home","type":"address","properties":{"addressOrContact":{"city":{"required":true},"state":{"hide":true}}}}
}

// A form that closes by itself, with a picture at its top.
func ExampleSettings() {
	most, end := schema.Integer(500), time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC)
	settings, err := json.Marshal(schema.Settings{
		ResponseLimit: &most, CloseAt: &end, ClosedMessage: "Thank you, we have enough answers.", DuplicateField: "email",
		UTM:   &schema.UTMFlags{Source: true, Campaign: true},
		Cover: &schema.Cover{Image: &schema.Image{URL: "https://example.com/cover.jpg"}},
	})
	if err != nil {
		log.Fatal(err)
	}
	read, err := schema.DecodeSettings(settings) // as out of a stored form
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*read.ResponseLimit, read.CloseAt.Year(), read.Closed)
	// Output: 500 2026 false
}

// The variables and hidden fields of a form, as a stored form has them.
func ExampleDecodeVariables() {
	variables, err := schema.DecodeVariables(json.RawMessage(`{"score":0,"tier":"free"}`))
	if err != nil {
		log.Fatal(err)
	}
	hidden, err := schema.DecodeHiddenFields(json.RawMessage(`["ref","campaign"]`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(variables["score"], variables["tier"], hidden)
	// Output: 0 free [ref campaign]
}

// A brand's look, with other colors in dark mode.
func ExampleTheme() {
	radius := 12.0
	theme, err := json.Marshal(schema.Theme{
		Font: "Inter",
		Colors: &schema.Colors{
			Palette: schema.Palette{Background: "#ffffff", Primary: "#0a7d55"},
			Dark:    &schema.Palette{Background: "#101418", Primary: "#35c48f"},
		},
		Logo:          &schema.Image{URL: "https://example.com/logo.svg"},
		LogoPlacement: &schema.LogoPlacement{Align: "left"},
		Layout:        &schema.Layout{PageWidth: "640px"},
		Buttons:       &schema.ButtonStyle{Radius: &radius},
	})
	if err != nil {
		log.Fatal(err)
	}
	read, err := schema.DecodeTheme(theme) // as out of a stored form
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(read.Colors.Primary, read.Colors.Dark.Primary)
	// Output: #0a7d55 #35c48f
}

// Messages in another language, from the parameters of the faults.
func ExampleError() {
	german := map[string]string{
		schema.CodeRequired:   "Bitte ausfüllen.",
		schema.CodeTooLong:    "Höchstens {limit} Zeichen.",
		schema.CodeOutOfRange: "Zwischen {min} und {max}.",
	}
	var err error = &schema.Error{Violations: []schema.Violation{ // as Submit returns it
		{Path: "/answers/score", Field: "score", Code: schema.CodeOutOfRange, Message: "must be from 0 to 10", Params: map[string]any{"min": json.Number("0"), "max": json.Number("10")}},
		{Path: "/answers/name", Field: "name", Code: schema.CodeRequired, Message: "is required"},
	}}
	var faults *schema.Error
	if !errors.As(err, &faults) {
		return
	}
	for _, v := range faults.Violations {
		text := german[v.Code]
		for name, value := range v.Params {
			text = strings.ReplaceAll(text, "{"+name+"}", fmt.Sprint(value))
		}
		fmt.Println(v.Field+":", text)
	}
	// Output:
	// score: Zwischen 0 und 10.
	// name: Bitte ausfüllen.
}

// What a translator may rely on in the sentence of a code, and what may be missing.
func ExampleCodeParams() {
	for _, code := range []string{schema.CodeTooLong, schema.CodeOutOfRange} {
		always, optional := schema.CodeParams(code)
		fmt.Println(code, always, optional)
	}
	// Output:
	// TOO_LONG [limit unit] []
	// OUT_OF_RANGE [] [max min step unit]
}

// The description as a file, for a generator of clients.
func ExampleOpenAPI() {
	var description struct {
		OpenAPI string
		Paths   map[string]struct{ Post struct{ OperationID string } }
	}
	if err := json.Unmarshal(schema.OpenAPI(), &description); err != nil { // or os.WriteFile
		log.Fatal(err)
	}
	fmt.Println(description.OpenAPI, description.Paths["/v1/forms"].Post.OperationID)
	// Output: 3.1.0 createForm
}

// Limits out of a host's configuration.
func ExampleLimits() {
	var limits schema.Limits // for formsvc.WithLimits
	if err := json.Unmarshal([]byte(`{"Blocks":50,"Choices":-1}`), &limits); err != nil {
		log.Fatal(err)
	}
	fmt.Println(limits.Validate())
	limits.Choices = 0
	fmt.Println(limits.WithDefaults().Blocks, limits.WithDefaults().Choices)
	// Output:
	// a limit is negative
	// 50 500
}

// An editor reads these values for the panel of a block.
func ExampleLookupBlockType() {
	kind, _ := schema.LookupBlockType(schema.TypeRating)
	fmt.Println(kind.Type, "goes from", kind.Scale.From, "to", kind.Scale.To)
	for _, p := range kind.Properties() {
		if p.Name == "to" || p.Name == "icon" || p.Name == "hide" {
			fmt.Println(p.Name, p.Type, p.Default, len(p.Values))
		}
	}
	// Output:
	// rating goes from 1 to 5
	// to number 5 0
	// icon word star 17
	// hide boolean <nil> 0
}

// Types whose answers settings.duplicateField cannot compare.
func ExampleBlockTypes() {
	for kind := range schema.BlockTypes() {
		if kind.TakesAnswer() && !kind.IsCompared() && kind.Answerer != schema.Host {
			fmt.Println(kind.Type)
		}
	}
	// Output:
	// yes_no
	// legal
	// matrix
	// address
	// contact_info
	// country
}

// What a block asks for of an address.
func ExampleAddressFields_Part() {
	fields := &schema.AddressFields{Zip: &schema.AddressField{Required: true}, Country: &schema.AddressField{Hide: true}}
	for _, part := range (schema.Contact{}).Parts() {
		if field := fields.Part(part.Name); field != (schema.AddressField{}) {
			fmt.Println(part.Name, schema.PartType(part.Name), field.Required, field.Hide)
		}
	}
	// Output:
	// zip short_text true false
	// country country false true
}

// A block may have answers of another shape than most of its type.
func ExampleBlock_AnswerShape() {
	pictures := schema.Block{Type: schema.TypePictureChoice}
	fmt.Println(pictures.AnswerShape())
	pictures.Properties = &schema.Properties{MultiSelection: true}
	fmt.Println(pictures.AnswerShape())
	// Output:
	// ChoiceAnswer
	// ChoicesAnswer
}

// A list of versions says what each of them changed.
func ExampleDiff() {
	diff, err := schema.Diff(
		storage.FormContent{Name: "Feedback", Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"why","label":"Why?"},{"id":"score"},{"id":"email"}]`)}},
		storage.FormContent{Name: "Feedback", Definition: storage.Definition{Blocks: json.RawMessage(`[{"id":"email"},{"id":"why","label":"Tell us why"}]`), Settings: json.RawMessage(`{"closed":true}`)}},
	)
	if err != nil {
		panic(err)
	}
	for _, b := range diff.Blocks {
		fmt.Println(b.ID, b.Removed, b.Moved, b.Changed)
	}
	fmt.Println(diff.Fields)
	// Output:
	// email false true []
	// why false false [/label]
	// score true false []
	// [/settings/closed]
}

// Critics are asked why, and thanked; all others go on.
func ExampleWhen() {
	fmt.Println(string(schema.Rule(schema.When("nps").Below(7).GoTo("why").Otherwise("thanks"))))
	// Output: {"next":[{"if":{"<":[{"var":"answers.nps"},7]},"to":"why"},{"to":"thanks"}]}
}

// Each check rejects an answer and shows its message.
func ExampleCondition_Refuse() {
	start, end, guests := schema.When("start"), schema.When("end"), schema.When("guests")
	for _, rule := range []json.RawMessage{
		schema.Rule(start.BeforeToday().Refuse("Choose a day in the future."), schema.When("born").AfterToday().Refuse("Enter the day of your birth.")),
		schema.Rule(end.BeforeAnswer("start").Refuse("The end is before the **start**."), end.AfterAnswer("deadline").Refuse("The end is too late.")),
		schema.Rule(guests.IsWhole().Not().Refuse("Enter a whole number."), guests.AboveAnswer("seats").Or(guests.BelowAnswer("least")).Refuse("This does not fit.")),
		schema.Rule(schema.When("code").Matches("[A-Z]{3}[0-9]+").Not().Refuse("Enter three letters and a number.")),
		schema.Rule(schema.When("why").ShorterThan(20).Refuse("Please write more."), schema.When("meals").LongerThan(2).Refuse("Choose two meals.")),
		schema.Rule(schema.When("repeated").EqualsAnswer("mail").Not().Refuse("The addresses differ.")),
	} {
		fmt.Println(string(rule))
	}
	// Output:
	// {"check":[{"if":{"<":[{"days":[{"today":[]},{"var":"answers.start"}]},0]},"say":"Choose a day in the future."},{"if":{">":[{"days":[{"today":[]},{"var":"answers.born"}]},0]},"say":"Enter the day of your birth."}]}
	// {"check":[{"if":{"<":[{"var":"answers.end"},{"var":"answers.start"}]},"say":"The end is before the **start**."},{"if":{">":[{"var":"answers.end"},{"var":"answers.deadline"}]},"say":"The end is too late."}]}
	// {"check":[{"if":{"!":{"==":[{"round":[{"var":"answers.guests"}]},{"var":"answers.guests"}]}},"say":"Enter a whole number."},{"if":{"or":[{">":[{"var":"answers.guests"},{"var":"answers.seats"}]},{"<":[{"var":"answers.guests"},{"var":"answers.least"}]}]},"say":"This does not fit."}]}
	// {"check":[{"if":{"!":{"match":[{"var":"answers.code"},"[A-Z]{3}[0-9]+"]}},"say":"Enter three letters and a number."}]}
	// {"check":[{"if":{"<":[{"length":[{"var":"answers.why"}]},20]},"say":"Please write more."},{"if":{">":[{"length":[{"var":"answers.meals"}]},2]},"say":"Choose two meals."}]}
	// {"check":[{"if":{"!":{"==":[{"var":"answers.repeated"},{"var":"answers.mail"}]}},"say":"The addresses differ."}]}
}

// A rule stands in the properties of a block.
func ExampleRule() {
	drink, adult := schema.When("drink"), schema.When("age").AtLeast(18)
	form := []schema.Block{
		{ID: "drink", Type: schema.TypeMultipleChoice, Choices: []schema.Choice{{ID: "tea"}, {ID: "wine"}}, Properties: &schema.Properties{Rule: schema.Rule(
			drink.Includes("tea").Add("score", 2), drink.IsExactly("tea").Set("tier", "gold"),
			schema.Always().AddAnswer("score", "guests"),
		)}},
		{ID: "year", Type: schema.TypeNumber, Properties: &schema.Properties{Rule: schema.Rule(
			drink.Includes("wine").And(adult).Show(), schema.When("name").Answered().Require(),
			schema.When("year").Between(1990, 1999).SetNumber("score", 10),
		)}},
	}
	for _, block := range form {
		fmt.Println(string(block.Properties.Rule))
	}
	// Output:
	// {"set":{"score":{"+":[{"var":"variables.score"},{"if":[{"in":["tea",{"var":"answers.drink"}]},2,0]},{"var":"answers.guests"}]},"tier":{"if":[{"==":[{"var":"answers.drink"},["tea"]]},"gold",{"var":"variables.tier"}]}}}
	// {"show":{"and":[{"in":["wine",{"var":"answers.drink"}]},{">=":[{"var":"answers.age"},18]}]},"require":{"!=":[{"var":"answers.name"},null]},"set":{"score":{"if":[{"<=":[1990,{"var":"answers.year"},1999]},10,{"var":"variables.score"}]}}}
}

func ExampleWhenEnding() {
	rejected := schema.WhenEnding().Is("rejected")
	text, err := json.Marshal(rejected)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(text))
	// Output: {"==":[{"var":"submission.ending"},"rejected"]}
}

// Each comparison, by the kind of answer that it reads.
func ExampleSubject() {
	pet, age, day, city := schema.When("pet"), schema.When("age"), schema.When("day"), schema.When("home").Part("city")
	for _, c := range []schema.Condition{
		pet.IsYes(), pet.IsNo(),
		age.Equals(18), age.AtMost(18), age.Above(18), age.NotAnswered(),
		day.Before("2026-12-01"), day.After("2026-12-01"),
		city.Is("Utrecht"), city.IsNot("Utrecht"), city.Contains("recht"), city.OneOf("Utrecht", "Bern"),
		schema.WhenHidden("source").Is("newsletter"), schema.WhenVariable("score").Above(5),
	} {
		fmt.Println(string(schema.Rule(c.Show())))
	}
	// Output:
	// {"show":{"==":[{"var":"answers.pet"},true]}}
	// {"show":{"==":[{"var":"answers.pet"},false]}}
	// {"show":{"==":[{"var":"answers.age"},18]}}
	// {"show":{"<=":[{"var":"answers.age"},18]}}
	// {"show":{">":[{"var":"answers.age"},18]}}
	// {"show":{"==":[{"var":"answers.age"},null]}}
	// {"show":{"<":[{"var":"answers.day"},"2026-12-01"]}}
	// {"show":{">":[{"var":"answers.day"},"2026-12-01"]}}
	// {"show":{"==":[{"var":"answers.home.city"},"Utrecht"]}}
	// {"show":{"!=":[{"var":"answers.home.city"},"Utrecht"]}}
	// {"show":{"in":["recht",{"var":"answers.home.city"}]}}
	// {"show":{"in":[{"var":"answers.home.city"},["Utrecht","Bern"]]}}
	// {"show":{"==":[{"var":"hidden.source"},"newsletter"]}}
	// {"show":{">":[{"var":"variables.score"},5]}}
}

// Conditions are joined, and turned into their opposite.
func ExampleCondition() {
	yes, old := schema.When("pet").IsYes(), schema.When("age").AtLeast(65)
	fmt.Println(string(schema.Rule(yes.Or(old).GoTo("end"))))
	fmt.Println(string(schema.Rule(yes.Or(old).Not().GoTo("end"))))
	// Output:
	// {"next":[{"if":{"or":[{"==":[{"var":"answers.pet"},true]},{">=":[{"var":"answers.age"},65]}]},"to":"end"}]}
	// {"next":[{"if":{"and":[{"!":{"==":[{"var":"answers.pet"},true]}},{"!":{">=":[{"var":"answers.age"},65]}}]},"to":"end"}]}
}

func ExampleParseText() {
	block := schema.Block{Label: "I accept the [**terms**](https://example.com/terms), {{answers.name}}. {{answers.age"}
	text := schema.ParseText(block.Label, schema.Formatting|schema.Insertions)
	value := func(name string) string { return map[string]string{"answers.name": "Ann <b>"}[name] }
	fmt.Println(text.HTML(value))
	fmt.Println(text.Insert(value))
	fmt.Println(text.Plain() == block.PlainLabel(), text.IsPlain(), text.InsertionNames(), text.Malformed())
	fmt.Println(text.PlainWithLinks())
	plain, html := schema.RenderText(block.Label, schema.Formatting|schema.Insertions, value)
	fmt.Println(plain == text.Insert(value), html == text.HTML(value))
	// Output:
	// I accept the <a href="https://example.com/terms" target="_blank" rel="noopener"><strong>terms</strong></a>, <bdi>Ann &lt;b&gt;</bdi>. {{answers.age
	// I accept the terms, Ann <b>. {{answers.age
	// true false [answers.name] []
	// I accept the terms (https://example.com/terms), {{answers.name}}. {{answers.age
	// true true
}
