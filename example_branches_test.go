package formsvc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
)

// branching makes a service with one form of these blocks and variables.
func branching(blocks, variables string) (*formsvc.Service, formsvc.ID) {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	workspace, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Customers"})
	if err != nil {
		log.Fatal(err)
	}
	form, err := ann.CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Branches", Definition: formsvc.Definition{
		Blocks: json.RawMessage(blocks), Variables: json.RawMessage(variables),
	}})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := ann.PublishForm(ctx, form.ID); err != nil {
		log.Fatal(err)
	}
	if warnings, err := ann.Warnings(ctx, form.ID); err != nil || len(warnings) > 0 {
		log.Fatal(warnings, err)
	}
	return svc, form.ID
}

// showPath prints the way through a form for some answers; required blocks have a star.
func showPath(svc *formsvc.Service, form formsvc.ID, answers string) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(answers), &given); err != nil {
		log.Fatal(err)
	}
	path, err := svc.Path(context.Background(), form, given, nil)
	if err != nil {
		log.Fatal(err)
	}
	var ids []string
	for _, block := range path.Blocks {
		if block.Required {
			block.ID += "*"
		}
		ids = append(ids, block.ID)
	}
	fmt.Println(strings.Join(ids, " "))
}

// Who has no pet passes over the questions about it.
func Example_skipASection() {
	svc, form := branching(`[
		{"id":"pet","type":"yes_no","label":"Do you have a pet?","required":true,"properties":{"rule":{
			"next":[{"if":{"!":{"var":"answers.pet"}},"to":"food"}]}}},
		{"id":"species","type":"short_text","label":"Which one?","required":true},
		{"id":"age","type":"number","label":"How old is it?"},
		{"id":"food","type":"long_text","label":"What do you eat?"},
		{"id":"thanks","type":"ending","label":"Thank you"}]`, `{}`)
	showPath(svc, form, `{"pet":true}`)
	showPath(svc, form, `{"pet":false}`)
	// Output:
	// pet* species* age food thanks
	// pet* food thanks
}

// A survey that wants people between 18 and 30 thanks all others at once. Whoever is asked
// must say where they live.
func Example_quotaQuestion() {
	svc, form := branching(`[
		{"id":"age","type":"number","label":"How old are you?","required":true,"properties":{"rule":{
			"next":[{"if":{"!":{"<=":[18,{"var":"answers.age"},30]}},"to":"full"}]}}},
		{"id":"country","type":"country","label":"Where do you live?","properties":{"rule":{"require":{">=":[{"var":"answers.age"},18]}}}},
		{"id":"done","type":"ending","label":"Thank you"},
		{"id":"full","type":"ending","label":"We have enough answers from your age"}]`, `{}`)
	showPath(svc, form, `{"age":25}`)
	showPath(svc, form, `{"age":55}`)
	// Output:
	// age* country* done
	// age* full
}

// Each right answer counts one; the ending depends on the sum, which is kept with the
// response.
func Example_scoreWithTwoEndings() {
	svc, form := branching(`[
		{"id":"capital","type":"single_choice","label":"What is the capital of Australia?","choices":[{"id":"syd","label":"Sydney"},{"id":"cbr","label":"Canberra"}],
			"properties":{"rule":{"set":{"score":{"+":[{"var":"variables.score"},{"if":[{"==":[{"var":"answers.capital"},"cbr"]},1,0]}]}}}}},
		{"id":"primes","type":"multiple_choice","label":"Which are prime?","choices":[{"id":"7","label":"7"},{"id":"9","label":"9"},{"id":"11","label":"11"}],
			"properties":{"rule":{
				"set":{"score":{"+":[{"var":"variables.score"},{"if":[{"==":[{"var":"answers.primes"},["7","11"]]},1,0]}]}},
				"next":[{"if":{"==":[{"var":"variables.score"},2]},"to":"won"}]}}},
		{"id":"again","type":"ending","label":"Try again"},
		{"id":"won","type":"ending","label":"All right!"}]`, `{"score":0}`)
	showPath(svc, form, `{"capital":"syd","primes":["7","11"]}`)
	showPath(svc, form, `{"capital":"cbr","primes":["7","11"]}`)

	stored, err := svc.Submit(context.Background(), formsvc.Response{FormID: form, Answers: map[string]json.RawMessage{"capital": json.RawMessage(`"cbr"`)}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(stored.Answers))
	// Output:
	// capital primes again
	// capital primes won
	// [{"field":{"id":"capital","type":"single_choice","label":"What is the capital of Australia?"},"value":{"id":"cbr","label":"Canberra"}},{"field":{"id":"score","type":"variable","label":"score"},"value":1}]
}

// The rest of an address is asked for once there is a way to send something.
func Example_showTheRestOfAnAddress() {
	svc, form := branching(`[
		{"id":"delivery","type":"dropdown","label":"How shall we send it?","required":true,"choices":[{"id":"mail","label":"By mail"},{"id":"pickup","label":"I pick it up"}]},
		{"id":"address","type":"address","label":"Where to?","required":true,"properties":{"addressOrContact":{"phone":{"hide":true}},"rule":{"show":{"==":[{"var":"answers.delivery"},"mail"]}}}},
		{"id":"customs","type":"short_text","label":"Customs number","properties":{"rule":{
			"show":{"!":{"in":[{"var":["answers.address.country","NL"]},["NL","BE","DE"]]}},
			"require":true}}}]`, `{}`)
	showPath(svc, form, `{"delivery":"pickup"}`)
	showPath(svc, form, `{"delivery":"mail","address":{"city":"Utrecht","country":"NL"}}`)
	showPath(svc, form, `{"delivery":"mail","address":{"city":"Bern","country":"CH"}}`)
	// Output:
	// delivery*
	// delivery* address*
	// delivery* address* customs*
}

// Who does not agree is not asked anything else.
func Example_endEarly() {
	svc, form := branching(`[
		{"id":"agree","type":"yes_no","label":"May we ask you a few questions?","required":true,"properties":{"rule":{
			"next":[{"if":{"==":[{"var":"answers.agree"},false]},"to":"end"}]}}},
		{"id":"name","type":"short_text","label":"Your name","required":true},
		{"id":"bye","type":"ending","label":"Thank you"}]`, `{}`)
	showPath(svc, form, `{"agree":true}`)
	showPath(svc, form, `{"agree":false}`)
	// Output:
	// agree* name* bye
	// agree* bye
}
