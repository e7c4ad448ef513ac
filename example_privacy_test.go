package formsvc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
)

// contactForm makes a service and a published form with a field for an e-mail address.
func contactForm(ctx context.Context) (svc *formsvc.Service, owner, form formsvc.ID, err error) {
	if svc, err = formsvc.New(formsvc.WithStorage(memory.New())); err != nil {
		return nil, owner, form, err
	}
	owner = formsvc.UserIDFrom("owner")
	w, err := svc.CreateWorkspace(ctx, owner, "Workspace")
	if err != nil {
		return nil, owner, form, err
	}
	f, err := svc.As(owner).CreateForm(ctx, formsvc.FormCreate{Workspace: w.ID, Name: "Contact", Definition: formsvc.Definition{
		Blocks: []byte(`[{"id":"mail","type":"email"}]`), Settings: []byte(`{"duplicateField":"mail"}`),
	}})
	if err != nil {
		return nil, owner, form, err
	}
	_, err = svc.As(owner).PublishForm(ctx, f.ID)
	return svc, owner, f.ID, err
}

// A respondent asks to be forgotten.
func ExampleService_EraseRespondent() {
	ctx := context.Background()
	svc, _, form, err := contactForm(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := svc.Submit(ctx, formsvc.Response{FormID: form, Answers: map[string]json.RawMessage{"mail": json.RawMessage(`"Ann@Example.com"`)}}); err != nil {
		fmt.Println(err)
		return
	}
	n, err := svc.EraseRespondent(ctx, form, map[string]string{"mail": "ann@example.com"})
	fmt.Println(n, err)
	// Output: 1 <nil>
}

// Responses are brought from elsewhere with their dates, and those that are older than
// the host may keep them are purged once a day.
func ExampleService_PurgeSubmissions() {
	ctx := context.Background()
	svc, _, form, err := contactForm(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for mail, years := range map[string]int{`"ann@example.com"`: 1, `"bob@example.com"`: 3} {
		r := formsvc.Response{
			FormID: form, Answers: map[string]json.RawMessage{"mail": json.RawMessage(mail)}, SubmittedAt: time.Now().AddDate(-years, 0, 0),
			IdempotencyKey: "import of " + mail, // a repeated import changes nothing
		}
		if _, err := svc.Submit(ctx, r); err != nil {
			fmt.Println(err)
			return
		}
	}
	n, err := svc.PurgeSubmissions(ctx, time.Now().AddDate(-2, 0, 0), form)
	fmt.Println(n, err)
	// Output: 1 <nil>
}

// An account of the product is closed.
func ExampleService_DeleteUser() {
	ctx := context.Background()
	svc, owner, form, err := contactForm(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(svc.DeleteUser(ctx, owner))
	_, err = svc.AsHost().Form(ctx, form)
	fmt.Println(err)
	// Output:
	// <nil>
	// storage: not found
}

// A form in the trash is removed before its time.
func ExampleService_PurgeForm() {
	ctx := context.Background()
	svc, owner, form, err := contactForm(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(svc.PurgeForm(ctx, form)) // it is not in the trash yet
	fmt.Println(svc.As(owner).TrashForm(ctx, form), svc.PurgeForm(ctx, form))
	// Output:
	// storage: not found
	// <nil> <nil>
}

// Once a day the host empties the trash of what is in it for 30 days, and removes responses
// that are older than it may keep any.
func ExampleService_PurgeTrash() {
	ctx := context.Background()
	svc, owner, form, err := contactForm(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := svc.As(owner).Form(ctx, form)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(svc.As(owner).TrashForm(ctx, form))
	trashed, err := svc.TrashedForms(ctx, stored.WorkspaceID)
	fmt.Println(len(trashed), err)

	forms, err := svc.PurgeTrash(ctx, time.Now().AddDate(0, 0, -30))
	fmt.Println(forms, err) // it went there just now
	responses, err := svc.PurgeAllSubmissions(ctx, time.Now().AddDate(-10, 0, 0))
	fmt.Println(responses, err)
	// Output:
	// <nil>
	// 1 <nil>
	// 0 <nil>
	// 0 <nil>
}
