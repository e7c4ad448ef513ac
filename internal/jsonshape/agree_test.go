package jsonshape_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/formsvc/formsvc/internal/described"
	"github.com/formsvc/formsvc/internal/jsonshape"
	"github.com/formsvc/formsvc/internal/jsontree"
)

// requests are the schemas that request bodies are held against.
var requests = []string{
	"WorkspaceWrite", "FormCreate", "FormUpdate", "BlockCreate", "BlocksReplace", "BlockUpdate", "BlockWrite", "WebhookCreate", "WebhookUpdate",
}

// The library is the authority: for any body, the walk and the library agree.
func TestWalkAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	d, err := jsonshape.Description()
	if err != nil {
		t.Fatal(err)
	}
	c, err := described.NewCompiler(d.Root().Source())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range requests {
		own, err := d.Component(name)
		if err != nil {
			t.Fatal(err)
		}
		library, err := c.Compile("/components/schemas/" + name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			accepted := 0
			rapid.Check(t, func(t *rapid.T) {
				body, err := json.Marshal(jsonshape.InstanceOf(t, own, 0))
				if err != nil {
					t.Fatal(err)
				}
				tree, err := jsontree.Parse(body, jsontree.BodyBounds)
				if err != nil {
					t.Skip(err)
				}
				var walk jsonshape.Check
				walk.Walk(tree.Root(), own)
				mine, theirs := walk.Faults.Err(), library.Check(tree.Root())
				if (mine == nil) != (theirs == nil) {
					t.Fatalf("%s\nwalk: %v\nlibrary: %v", body, mine, theirs)
				}
				if mine == nil {
					accepted++
				}
			})
			if accepted == 0 {
				t.Error("no body was ever accepted")
			}
		})
	}
}
