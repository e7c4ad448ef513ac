package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
)

// demo is what seed made and the pages and printed lines refer to.
type demo struct {
	Key         string // the whole API key
	Secret      string // the webhook's signing secret
	WorkspaceID formsvc.ID
	FormID      formsvc.ID // of the feedback form
	PublicID    string
}

//go:embed forms
var formFiles embed.FS

// The forms of the quickstart. The first one has responses and a webhook.
var samples = []string{"feedback", "finder", "every"}

const (
	seedDays      = 28
	seedViews     = 140
	seedStarts    = 46
	seedResponses = 26
)

// The host's own user ids, whatever they look like, become ids of the API.
var mara = formsvc.User{ID: formsvc.UserIDFrom("mara"), Name: "Mara Lindqvist", Email: "mara@lumen.example"}

const (
	keyName       = "Quickstart"
	signingSecret = "quickstart-signing-secret"
)

// prepare seeds an empty store, and finds the data of an earlier run in any other
// store.
func prepare(ctx context.Context, store storage.Storage, live *formsvc.Service, receiver string) (demo, error) {
	for _, err := range live.As(mara.ID).Workspaces(ctx, formsvc.Query{Limit: 1}) {
		if err != nil {
			return demo{}, err
		}
		return resume(ctx, live, receiver)
	}
	return seed(ctx, store, live, receiver)
}

// resume replaces the key of an earlier run, which nobody can read any more, and
// points the webhook at this run's receiver.
func resume(ctx context.Context, live *formsvc.Service, receiver string) (demo, error) {
	keys, err := live.Keys(ctx, mara.ID)
	if err != nil {
		return demo{}, err
	}
	for _, k := range keys {
		if k.Name == keyName && k.RevokedAt.IsZero() {
			if err := live.RevokeKey(ctx, mara.ID, k.ID); err != nil {
				return demo{}, err
			}
		}
	}
	key, err := live.CreateKey(ctx, formsvc.KeyRequest{User: mara, Name: keyName, Scopes: formsvc.Scopes()})
	if err != nil {
		return demo{}, err
	}

	// The seeded form is the one with the oldest webhook that leads here.
	client := live.As(mara.ID)
	var seeded formsvc.Webhook
	for hook, err := range client.Webhooks(ctx, formsvc.Query{}) {
		if err != nil {
			return demo{}, err
		}
		if strings.HasSuffix(hook.URL, receivePath) {
			seeded = hook
		}
	}
	if !seeded.ID.IsZero() {
		if _, err := client.UpdateWebhook(ctx, seeded.ID, formsvc.WebhookUpdate{URL: &receiver, SigningSecret: new(signingSecret)}); err != nil {
			return demo{}, err
		}
		form, err := client.Form(ctx, seeded.FormID)
		if err != nil {
			return demo{}, err
		}
		return demo{
			Key: key.Secret, Secret: signingSecret,
			WorkspaceID: form.WorkspaceID, FormID: form.ID, PublicID: form.PublicID,
		}, nil
	}
	return demo{}, errors.New("the database has data but not this program's form: use an empty database")
}

// seed fills an empty store: a user with a key, a workspace, a published form, four
// weeks of visitors, and a webhook that posts to receiver.
func seed(ctx context.Context, store storage.Storage, live *formsvc.Service, receiver string) (demo, error) {
	// A service on the same store whose clock stands where we want it: this is how a
	// host brings data with dates of its own.
	now := time.Now()
	at := now.AddDate(0, 0, -seedDays)
	past, err := formsvc.New(formsvc.WithStorage(store), formsvc.WithClock(func() time.Time { return at }), formsvc.WithoutRateLimit())
	if err != nil {
		return demo{}, err
	}

	key, err := past.CreateKey(ctx, formsvc.KeyRequest{User: mara, Name: keyName, Scopes: formsvc.Scopes()})
	if err != nil {
		return demo{}, fmt.Errorf("key: %w", err)
	}
	client := past.As(mara.ID)
	workspace, err := client.CreateWorkspace(ctx, formsvc.WorkspaceCreate{Name: "Lumen Coffee"})
	if err != nil {
		return demo{}, fmt.Errorf("workspace: %w", err)
	}
	var forms []formsvc.Form
	for _, file := range samples {
		form, err := publish(ctx, client, workspace.ID, file)
		if err != nil {
			return demo{}, fmt.Errorf("form %s: %w", file, err)
		}
		forms = append(forms, form)
	}
	form := forms[0]
	d := demo{Key: key.Secret, Secret: signingSecret, WorkspaceID: workspace.ID, FormID: form.ID, PublicID: form.PublicID}

	// The same visitors on every start; only their dates move with today.
	random := rand.New(rand.NewPCG(2026, 7))
	visits := make([]time.Time, seedViews)
	for i := range visits {
		visits[i] = now.Add(-time.Duration(random.Int64N(int64(seedDays * 24 * time.Hour))))
	}
	slices.SortFunc(visits, time.Time.Compare)
	depth := random.Perm(seedViews) // how far each visitor comes: the lower, the further
	for i := range visits {
		at = visits[i]
		if err := past.RecordView(ctx, form.ID); err != nil {
			return demo{}, err
		}
		if depth[i] < seedStarts {
			if err := past.RecordStart(ctx, form.ID); err != nil {
				return demo{}, err
			}
		}
		if depth[i] < seedResponses {
			if _, err := past.Submit(ctx, visitor(random, form.ID, at)); err != nil {
				return demo{}, fmt.Errorf("response: %w", err)
			}
		}
	}

	// The webhook is made last and by the live service, so that old responses are
	// not sent. A test event shows that the receiver is there.
	made, err := live.As(mara.ID).CreateWebhook(ctx, formsvc.WebhookCreate{Form: form.ID, URL: receiver, SigningSecret: d.Secret})
	if err != nil {
		return demo{}, fmt.Errorf("webhook: %w", err)
	}
	if err := live.SendTestEvent(ctx, made.ID); err != nil {
		return demo{}, fmt.Errorf("test event: %w", err)
	}
	return d, past.Close(ctx)
}

// sampleForm is one of the files in the directory forms.
type sampleForm struct {
	Name, Type string
	Definition formsvc.Definition
}

func readSample(file string) (s sampleForm, err error) {
	raw, err := formFiles.ReadFile("forms/" + file + ".json")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(raw, &s)
}

// publish makes a form of a file.
func publish(ctx context.Context, client formsvc.Client, workspace formsvc.ID, file string) (formsvc.Form, error) {
	sample, err := readSample(file)
	if err != nil {
		return formsvc.Form{}, err
	}
	form, err := client.CreateForm(ctx, formsvc.FormCreate{
		Workspace: workspace, Name: sample.Name, Type: sample.Type, Definition: sample.Definition,
	})
	if err != nil {
		return form, err
	}
	return client.PublishForm(ctx, form.ID)
}

// visitor makes up a response. Who rates low also recommends less and has more to
// complain about.
func visitor(random *rand.Rand, form formsvc.ID, at time.Time) formsvc.SubmitParams {
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	first := pick([]string{"Anna", "Ben", "Chloé", "Daniel", "Elif", "Femke", "Giulia", "Hugo", "Ines", "Jonas", "Kaito", "Lena", "Noah", "Priya", "Sofia", "Tomás"})
	last := pick([]string{"Berg", "Costa", "Dubois", "Fischer", "Haddad", "Kowalska", "Marín", "Nakamura", "Novak", "Okafor", "Rossi", "Smit"})
	stars := 5 - min(random.IntN(4), random.IntN(5))

	answers := map[string]any{
		"overall":   stars,
		"recommend": min(10, 2*stars-1+random.IntN(3)),
		"again":     stars > 2,
		"name":      first + " " + last,
		"email":     plain.Replace(strings.ToLower(first+"."+last)) + "@example.com",
		"consent":   true,
	}
	optional := map[string]any{
		"product":    pick([]string{"house", "ethiopia", "colombia", "decaf"}),
		"ordered_on": at.AddDate(0, 0, -3-random.IntN(20)).UTC().Format(time.DateOnly),
		"orders":     1 + random.IntN(12),
		"delivery":   min(7, stars+random.IntN(3)),
		"liked":      [][]string{{"taste"}, {"taste", "fresh"}, {"packaging", "service"}, {"taste", "price", "fresh"}}[random.IntN(4)],
		"heard":      []any{"friend", "search", "cafe", "social", map[string]string{"other": "A colleague brought a bag to the office"}}[random.IntN(5)],
		"comment": pick(map[bool][]string{
			true: {
				"Nothing, really. The Ethiopia is the best I had this year.", "Larger bags for offices would be great.",
				"Please keep the tasting notes on the bag, we love them.", "A subscription that I can pause.",
				"Ship to the islands, please!", "The roast date could be printed larger.",
			},
			false: {
				"The bag arrived torn, though support was kind about it.", "Delivery took nine days.",
				"Too dark for my taste, a lighter roast would be nice.", "The discount code did not work.",
			},
		}[stars > 3]),
	}
	for _, id := range []string{"product", "ordered_on", "orders", "delivery", "liked", "heard", "comment"} { // in order: deterministic
		if random.IntN(5) > 0 {
			answers[id] = optional[id]
		}
	}

	response := formsvc.SubmitParams{
		FormID:         form,
		Answers:        make(map[string]json.RawMessage, len(answers)),
		Hidden:         map[string]string{"ref": fmt.Sprintf("order-%d", 41000+random.IntN(9000))},
		CompletionTime: float64(45 + random.IntN(200)),
		Metadata: formsvc.Metadata{
			Country: pick([]string{"DE", "FR", "NL", "PT", "SE"}),
			Device:  pick([]string{"desktop", "mobile", "mobile"}),
			UTM:     map[string]string{"source": pick([]string{"newsletter", "receipt"}), "medium": "email", "campaign": "autumn"},
		},
	}
	for id, value := range answers {
		response.Answers[id], _ = json.Marshal(value) // strings, numbers and lists of them: cannot fail
	}
	return response
}

// plain makes names fit for an address.
var plain = strings.NewReplacer("é", "e", "á", "a", "í", "i")
