package formsvc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"slices"
	"strings"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage/memory"
)

// officeRooms is a host's list of choices. A real source filters by q.Workspace and q.Respondent too.
type officeRooms map[string]map[string]string // labels by building and ID

func (r officeRooms) Choices(_ context.Context, q formsvc.ChoiceQuery) (choices []schema.Choice, err error) {
	for _, id := range slices.Sorted(maps.Keys(r[q.By])) {
		if label := r[q.By][id]; len(choices) < q.Limit && strings.Contains(label, q.Search) {
			choices = append(choices, schema.Choice{ID: id, Label: label})
		}
	}
	return choices, nil
}

func (r officeRooms) Labels(_ context.Context, ids []string, q formsvc.ChoiceQuery) (map[string]string, error) {
	labels := map[string]string{}
	for _, id := range ids {
		if label, ok := r[q.By][id]; ok {
			labels[id] = label
		}
	}
	return labels, nil
}

// A host offers its own rooms as choices, and checks order numbers.
func ExampleWithChoices() {
	ctx := context.Background()
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()),
		formsvc.WithChoices("rooms", "Meeting rooms", officeRooms{"east": {"e1": "Oak", "e2": "Elm"}, "west": {"w1": "Fir"}}),
		formsvc.WithCheck("order", "Order number", func(_ context.Context, in formsvc.CheckInput) (string, error) {
			if in.Answer.String() != "A-1" {
				return "There is no such order.", nil
			}
			return "", nil
		}))
	if err != nil {
		log.Fatal(err)
	}
	user := formsvc.UserIDFrom("ann")
	workspace, err := svc.CreateWorkspace(ctx, user, "Ann")
	if err != nil {
		log.Fatal(err)
	}
	blocks, err := json.Marshal([]schema.Block{
		{ID: "building", Type: schema.TypeShortText, Label: "Building"},
		{ID: "room", Type: schema.TypeDropdown, Label: "Room", Properties: &schema.Properties{Rule: schema.Rule(schema.ChoicesFrom("rooms", schema.When("building")))}},
		{ID: "order", Type: schema.TypeShortText, Label: "Order", Properties: &schema.Properties{Rule: schema.Rule(schema.CheckWith("order"))}},
	})
	if err != nil {
		log.Fatal(err)
	}
	created, err := svc.As(user).CreateForm(ctx, formsvc.FormCreate{Workspace: workspace.ID, Name: "Booking", Definition: formsvc.Definition{Blocks: blocks}})
	if err != nil {
		log.Fatal(err)
	}
	published, err := svc.As(user).PublishForm(ctx, created.ID)
	if err != nil {
		log.Fatal(err)
	}

	// A page of the host shows the choices, and checks the first answers before it shows the next page.
	form, err := svc.PublicForm(ctx, published.PublicID)
	if err != nil {
		log.Fatal(err)
	}
	list := form.Blocks[1].ListRef()
	fmt.Println(svc.ChoiceLists(), svc.AnswerChecks(), list.List, list.By)
	answering := formsvc.Answering{Answers: map[string]json.RawMessage{
		"building": json.RawMessage(`"east"`), "room": json.RawMessage(`"w1"`), "order": json.RawMessage(`"B-2"`),
	}}
	offered, _, err := form.Choices(ctx, "room", answering, "", 20)
	fmt.Println(offered[0].Label, offered[1].Label, err)
	violations, err := form.CheckBlocks(ctx, []string{"building", "room"}, answering)
	fmt.Println(violations[0].Path, violations[0].Code, err)

	answering.Answers["room"] = json.RawMessage(`"e2"`)
	_, err = svc.Submit(ctx, formsvc.SubmitParams{FormID: form.ID, Answers: answering.Answers})
	fmt.Println(err)
	answering.Answers["order"] = json.RawMessage(`"A-1"`)
	submission, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form.ID, Answers: answering.Answers})
	if err != nil {
		log.Fatal(err)
	}
	answers, err := formsvc.DecodeAnswers(submission)
	fmt.Println(answers[1].String(), err)

	// An editor shows what a list offers in a workspace.
	preview, err := svc.Choices(ctx, "rooms", formsvc.ChoiceQuery{Workspace: workspace.ID, By: "west", Limit: 20})
	fmt.Println(preview[0].Label, err)
	// Output:
	// [{rooms Meeting rooms}] [{order Order number}] rooms answers.building
	// Oak Elm <nil>
	// /answers/room NOT_A_CHOICE <nil>
	// schema: /answers/order: There is no such order. (CHECK_FAILED)
	// Elm <nil>
	// Fir <nil>
}
