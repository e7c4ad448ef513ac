package formsvc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/formsvc/formsvc"
)

// A page keeps what a respondent has so far, and goes on with it later.
func ExampleService_SavePartial() {
	svc, form := exampleForm()
	ctx := context.Background()
	half := formsvc.PartialSubmission{
		FormID:  form,
		Answers: map[string]json.RawMessage{"why": json.RawMessage(`"Quick he"`), "gone": json.RawMessage(`1`)},
		Block:   "why", Seconds: 40,
	}
	token, dropped, err := svc.SavePartial(ctx, half)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(token), dropped) // the token goes to the respondent alone

	half, err = svc.ResumePartial(ctx, form, token)
	if err != nil {
		log.Fatal(err)
	}
	half.Answers["score"] = json.RawMessage(`9`)
	if _, err := svc.Submit(ctx, formsvc.SubmitParams{FormID: form, Answers: half.Answers, CompletionTime: half.Seconds + 20, Partial: token}); err != nil {
		log.Fatal(err)
	}
	_, _, err = svc.SavePartial(ctx, half)
	fmt.Println(err)
	// Output:
	// 22 [gone]
	// formsvc: the response was already submitted
}

// The second of two devices takes over what the first has saved, and keeps its own answers.
func ExampleService_ResumePartial() {
	svc, form := exampleForm()
	ctx := context.Background()
	token, _, err := svc.SavePartial(ctx, formsvc.PartialSubmission{FormID: form})
	if err != nil {
		log.Fatal(err)
	}
	phone, err := svc.ResumePartial(ctx, form, token)
	if err != nil {
		log.Fatal(err)
	}
	laptop := phone
	phone.Answers = map[string]json.RawMessage{"score": json.RawMessage(`9`)}
	if _, _, err := svc.SavePartial(ctx, phone); err != nil {
		log.Fatal(err)
	}
	laptop.Answers = map[string]json.RawMessage{"why": json.RawMessage(`"Quick help"`)}
	_, _, err = svc.SavePartial(ctx, laptop)
	for mismatch := new(formsvc.RevisionError); errors.As(err, &mismatch); {
		other, failed := svc.ResumePartial(ctx, form, token)
		if errors.Is(failed, formsvc.ErrAlreadySubmitted) {
			fmt.Println("sent as", other.SubmissionID) // to the ending
			return
		}
		for id, answer := range other.Answers {
			if laptop.Answers[id] == nil {
				laptop.Answers[id] = answer
			}
		}
		laptop.Revision = other.Revision
		_, _, err = svc.SavePartial(ctx, laptop)
	}
	both, _ := svc.ResumePartial(ctx, form, token)
	fmt.Println(len(both.Answers), both.Revision, err)
	// Output: 2 3 <nil>
}

// A button of the page forgets what was saved.
func ExampleService_DeletePartial() {
	svc, form := exampleForm()
	ctx := context.Background()
	token, _, err := svc.SavePartial(ctx, formsvc.PartialSubmission{FormID: form})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(svc.DeletePartial(ctx, form, token))
	_, err = svc.ResumePartial(ctx, form, token)
	fmt.Println(err)
	// Output:
	// <nil>
	// storage: not found
}

// The owners of a form see how many go on later, and answers where the page said so.
func ExampleClient_Partials() {
	svc, form := exampleForm()
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	for _, share := range []bool{false, true} {
		_, _, err := svc.SavePartial(ctx, formsvc.PartialSubmission{FormID: form, Answers: map[string]json.RawMessage{"score": json.RawMessage(`9`)}, ShareWithOwner: share})
		if err != nil {
			log.Fatal(err)
		}
	}
	for p, err := range ann.Partials(ctx, form, formsvc.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q %v\n", string(p.Answers), ann.DeletePartial(ctx, form, p.ID))
	}
	// Unordered output:
	// "{\"score\":9}" <nil>
	// "" <nil>
}
