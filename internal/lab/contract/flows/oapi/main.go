//go:build contract

// One piece of work with the client that oapi-codegen generates into this
// directory.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	_ "github.com/oapi-codegen/runtime" // the generated code needs it
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	err := flow(ctx)
	cancel()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("done")
}

func flow(ctx context.Context) error {
	key := func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-API-Key", os.Getenv("FORMS_KEY"))
		return nil
	}
	api, err := NewClientWithResponses(os.Getenv("FORMS_URL"), WithRequestEditorFn(key))
	if err != nil {
		return err
	}
	workspace, err := api.CreateWorkspaceWithResponse(ctx, nil, WorkspaceWrite{Name: "Flow"})
	if err != nil || workspace.JSON201 == nil {
		return fault("create a workspace", workspace, err)
	}
	form, err := build(ctx, api, workspace.JSON201.Id)
	if err != nil {
		return err
	}
	if err := change(ctx, api, form); err != nil {
		return err
	}
	if err := respond(ctx, api, form); err != nil {
		return err
	}
	if gone, err := api.DeleteFormWithResponse(ctx, form, nil); err != nil || gone.StatusCode() != http.StatusNoContent {
		return fault("delete the form", gone, err)
	}
	if gone, err := api.DeleteWorkspaceWithResponse(ctx, workspace.JSON201.Id, nil); err != nil || gone.StatusCode() != http.StatusNoContent {
		return fault("delete the workspace", gone, err)
	}
	if none, err := api.GetFormWithResponse(ctx, form, nil); err != nil || none.JSON404 == nil || none.JSON404.Code != "NOT_FOUND" {
		return fault("find nothing", none, err)
	}
	return nil
}

// build creates a form.
func build(ctx context.Context, api *ClientWithResponses, workspace ObjectId) (ObjectId, error) {
	var score, greeting VariableValue
	if err := score.FromVariableValue1(1.5); err != nil {
		return "", err
	}
	if err := greeting.FromVariableValue0("Hello"); err != nil {
		return "", err
	}
	created, err := api.CreateFormWithResponse(ctx, nil, FormCreate{
		WorkspaceId: workspace,
		Name:        "Flow",
		Definition: &DefinitionWrite{
			Blocks: &[]BlockWrite{
				{Id: "stars", Type: new(BlockTypeRating), Label: new("How was it?"), Properties: &BlockProperties{To: new(5.0), Icon: new(Star)}},
				{Id: "found", Type: new(BlockTypeSingleChoice), Choices: &[]ChoiceWrite{{Id: "friend", Label: new("A friend")}}},
				{Id: "exact", Type: new(BlockTypeNumber), Properties: &BlockProperties{Min: new(16777217.0), MinVal: new(true)}},
			},
			Variables: &Variables{"score": score, "greeting": greeting},
		},
	})
	if err != nil || created.JSON201 == nil {
		return "", fault("create a form", created, err)
	}
	return created.JSON201.Id, nil
}

// change writes the form in all ways.
func change(ctx context.Context, api *ClientWithResponses, form ObjectId) error {
	read, err := api.GetFormWithResponse(ctx, form, nil)
	if err != nil || read.JSON200 == nil {
		return fault("read the form", read, err)
	}
	// 16777217 is the first integer that a float32 does not hold.
	if got := *read.JSON200.Definition.Blocks[2].Properties.Min; got != 16777217 {
		return fmt.Errorf("min is %v, want 16777217", got)
	}
	stale := read.HTTPResponse.Header.Get("ETag")

	published, err := api.UpdateFormWithResponse(ctx, form, &UpdateFormParams{IfMatch: &stale}, FormUpdate{Status: new(Published)})
	if err != nil || published.JSON200 == nil || FormStatus(published.JSON200.Status) != Published {
		return fault("publish the form", published, err)
	}
	late, err := api.UpdateFormWithResponse(ctx, form, &UpdateFormParams{IfMatch: &stale}, FormUpdate{Name: new("Too late")})
	if err != nil || late.JSON412 == nil || late.JSON412.Code != "REVISION_MISMATCH" {
		return fault("see that If-Match fails", late, err)
	}

	replaced, err := api.ReplaceBlocksWithResponse(ctx, form, nil, BlocksReplace{Blocks: []BlockWrite{
		{Id: "found", Choices: &[]ChoiceWrite{{Id: "friend", Label: new("A friend")}}},
		{Id: "stars", Properties: &BlockProperties{To: new(5.0)}},
		{Id: "exact", Properties: &BlockProperties{Max: new(16777217.0), MaxVal: new(true)}},
	}})
	if err != nil || replaced.JSON200 == nil || len(replaced.JSON200.Items) != 3 {
		return fault("replace the blocks", replaced, err)
	}
	added, err := api.CreateBlockWithResponse(ctx, form, nil, BlockCreate{Block: BlockWrite{Id: "why", Label: new("Why?")}})
	if err != nil || added.JSON201 == nil || BlockType(added.JSON201.Type) != BlockTypeShortText {
		return fault("add a block", added, err)
	}
	patched, err := api.UpdateBlockWithResponse(ctx, form, "stars", nil, BlockUpdate{Block: BlockPatch{
		Label: new("How did you like it?"), Properties: &BlockPropertiesPatch{Icon: new(Heart)},
	}})
	if err != nil || patched.JSON200 == nil || *patched.JSON200.Properties.Icon != Heart {
		return fault("change a block", patched, err)
	}
	return nil
}

// respond lets a response come in and looks at all that follows from it.
func respond(ctx context.Context, api *ClientWithResponses, form ObjectId) error {
	webhook, err := api.CreateWebhookWithResponse(ctx, nil, WebhookCreate{FormId: form, Url: os.Getenv("HOOK_URL"), SigningSecret: new("sixteen characters")})
	if err != nil || webhook.JSON201 == nil || !webhook.JSON201.HasSecret {
		return fault("create a webhook", webhook, err)
	}
	if err := submit(ctx, form); err != nil {
		return err
	}
	page, err := api.ListSubmissionsWithResponse(ctx, form, &ListSubmissionsParams{Limit: new(int64(10))})
	if err != nil || page.JSON200 == nil || len(page.JSON200.Items) != 1 || page.JSON200.Page.NextCursor != nil {
		return fault("list the submissions", page, err)
	}
	for _, answer := range page.JSON200.Items[0].Answers {
		if err := checkAnswer(answer); err != nil {
			return err
		}
	}

	// The delivery is made by another goroutine of the service: ask until it is there.
	for delivered := false; !delivered; time.Sleep(50 * time.Millisecond) {
		list, err := api.ListDeliveriesWithResponse(ctx, webhook.JSON201.Id, nil)
		if err != nil || list.JSON200 == nil {
			return fault("list the deliveries", list, err)
		}
		for _, d := range list.JSON200.Items {
			delivered = delivered || d.Success && d.Error == nil
		}
	}

	metrics, err := api.GetMetricsWithResponse(ctx, form, &GetMetricsParams{Period: new(N7d)})
	if err != nil || metrics.JSON200 == nil || metrics.JSON200.Submissions != 1 {
		return fault("read the figures", metrics, err)
	}
	if gone, err := api.DeleteWebhookWithResponse(ctx, webhook.JSON201.Id, nil); err != nil || gone.StatusCode() != http.StatusNoContent {
		return fault("delete the webhook", gone, err)
	}
	return nil
}

// checkAnswer reads an answer by its type.
func checkAnswer(answer Answer) error {
	switch BlockType(answer.Field.Type) {
	case BlockTypeRating, BlockTypeNumber:
		want := map[string]NumberAnswer{"stars": 4, "exact": 16777217}[answer.Field.Id]
		if got, err := answer.Value.AsNumberAnswer(); err != nil || got != want {
			return fmt.Errorf("%s is %v (%w), want %v", answer.Field.Id, got, err, want)
		}
	case BlockTypeSingleChoice:
		choice, err := answer.Value.AsChoiceAnswer()
		if err != nil {
			return err
		}
		if chosen, err := choice.AsChosenAnswer(); err != nil || chosen.Id != "friend" {
			return fmt.Errorf("found is %+v (%w)", chosen, err)
		}
	}
	return nil
}

// fault says which step did not get its answer.
func fault(step string, answer any, err error) error {
	return fmt.Errorf("%s: %w: %+v", step, err, answer)
}

// submit lets the test store a response, which the API cannot.
func submit(ctx context.Context, form string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("CONTROL_URL"), strings.NewReader(form))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("submit: %s", res.Status)
	}
	return nil
}
