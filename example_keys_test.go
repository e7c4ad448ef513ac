package formsvc_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/formsvc/formsvc"
)

// A page of settings lists a user's API keys and ends one of them.
func ExampleService_Keys() {
	svc, _ := exampleForm()
	ctx, ann := context.Background(), formsvc.UserIDFrom("ann")
	issued, err := svc.CreateKey(ctx, formsvc.KeyRequest{User: formsvc.User{ID: ann}, Name: "old script", Scopes: []formsvc.Scope{formsvc.ScopeFormsRead}})
	if err != nil {
		log.Fatal(err)
	}
	keys, err := svc.Keys(ctx, ann)
	if err != nil {
		log.Fatal(err)
	}
	for _, key := range keys {
		fmt.Println(key.Name, key.Scopes)
		if err := svc.RevokeKey(ctx, ann, key.ID); err != nil {
			log.Fatal(err)
		}
	}
	_, err = svc.ResolveKey(ctx, issued.Secret)
	fmt.Println(errors.Is(err, formsvc.ErrInvalidKey))
	// Output:
	// old script [forms:read]
	// true
}

// A form of settings offers all scopes.
func ExampleScopes() {
	for _, scope := range formsvc.Scopes() {
		fmt.Println(scope)
	}
	// Output:
	// analytics:read
	// forms:read
	// forms:write
	// submissions:read
	// submissions:write
	// webhooks:read
	// webhooks:write
	// workspaces:read
	// workspaces:write
}
