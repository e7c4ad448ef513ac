package formsvc_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage/memory"
)

// A user's workspaces, as a page of the product lists them and changes them.
func ExampleClient_Workspaces() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, ann := context.Background(), svc.As(formsvc.UserIDFrom("ann"))
	for _, name := range []string{"Customers", "Staff"} {
		if _, err := ann.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: name}); err != nil {
			log.Fatal(err)
		}
	}
	for w, err := range ann.Workspaces(ctx, formsvc.Query{}) {
		if err != nil {
			log.Fatal(err)
		}
		switch w.Name {
		case "Customers":
			renamed, err := ann.RenameWorkspace(ctx, w.ID, "Clients")
			fmt.Println(renamed.Name, err)
		case "Staff": // its forms, if any, go to the trash
			fmt.Println("deleted:", ann.DeleteWorkspace(ctx, w.ID))
			_, err := ann.Workspace(ctx, w.ID)
			fmt.Println(errors.Is(err, formsvc.ErrNotFound))
		}
	}
	// Unordered output:
	// Clients <nil>
	// deleted: <nil>
	// true
}

// Ann hands her workspace over to Bob, and then leaves it.
func ExampleService_TransferWorkspace() {
	svc, err := formsvc.New(formsvc.WithStorage(memory.New()))
	if err != nil {
		log.Fatal(err)
	}
	ctx, ann, bob := context.Background(), formsvc.UserIDFrom("ann"), formsvc.UserIDFrom("bob")
	workspace, err := svc.CreateWorkspace(ctx, ann, "Customers")
	if err != nil {
		log.Fatal(err)
	}
	if err := svc.TransferWorkspace(ctx, workspace.ID, bob); err != nil {
		log.Fatal(err)
	}
	members, err := svc.Members(ctx, workspace.ID)
	fmt.Println(len(members) == 1 && members[0] == ann, err) // who was the owner is a member
	if err := svc.RemoveMember(ctx, workspace.ID, ann); err != nil {
		log.Fatal(err)
	}
	members, err = svc.Members(ctx, workspace.ID)
	fmt.Println(len(members), err)
	// Output:
	// true <nil>
	// 0 <nil>
}
