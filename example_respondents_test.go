package formsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/formsvc/formsvc"
)

// The host knows who is signed in, and passes this ID with each submission.
func ExampleService_SubmissionsOf() {
	svc, form := exampleForm()
	ctx := context.Background()
	for _, user := range []string{"user 42", "user 7", "user 42"} {
		answers := map[string]json.RawMessage{"score": json.RawMessage(`9`)}
		if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: answers, Respondent: user}); err != nil {
			log.Fatal(err)
		}
	}
	for s, err := range svc.SubmissionsOf(ctx, "user 42", formsvc.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(s.FormID == form, s.Respondent)
	}
	fmt.Println(svc.EraseRespondentData(ctx, "user 42"))
	// Output:
	// true user 42
	// true user 42
	// 2 <nil>
}

// A form with settings.onePerRespondent accepts one submission of each person.
func ExampleService_RespondentSubmission() {
	svc, form := exampleForm()
	ctx := context.Background()
	settings := formsvc.FormUpdate{Definition: formsvc.Definition{Settings: json.RawMessage(`{"onePerRespondent": true}`)}}
	if _, err := svc.AsHost().UpdateForm(ctx, form, settings); err != nil {
		log.Fatal(err)
	}
	_, err := svc.RespondentSubmission(ctx, form, "user 42")
	fmt.Println(err) // the page shows the form
	r := formsvc.SubmitParams{FormID: form, Answers: map[string]json.RawMessage{"score": json.RawMessage(`9`)}, Respondent: "user 42"}
	first, err := svc.Submit(ctx, r)
	if err != nil {
		log.Fatal(err)
	}
	_, err = svc.Submit(ctx, r)
	if answered, ok := errors.AsType[*formsvc.AnsweredError](err); ok {
		fmt.Println("already answered", answered.SubmittedAt.Equal(first.SubmittedAt))
	}
	// Output:
	// storage: not found
	// already answered true
}

// A signed-in respondent continues on any device, without a link.
func ExampleService_RespondentPartial() {
	svc, form := exampleForm()
	ctx := context.Background()
	phone := formsvc.PartialSubmission{FormID: form, Respondent: "user 42", Answers: map[string]json.RawMessage{"score": json.RawMessage(`9`)}}
	if _, _, err := svc.SavePartial(ctx, phone); err != nil {
		log.Fatal(err)
	}
	laptop, err := svc.RespondentPartial(ctx, form, "user 42")
	if err != nil {
		log.Fatal(err)
	}
	laptop.Answers["why"] = json.RawMessage(`"Quick help"`)
	if _, _, err := svc.SavePartial(ctx, laptop); err != nil {
		log.Fatal(err)
	}
	_, _, err = svc.SavePartial(ctx, phone)
	fmt.Println(err)
	fmt.Println(svc.DeleteRespondentPartial(ctx, form, "user 42"))
	// Output:
	// storage: revision mismatch partial: current is 2
	// <nil>
}
