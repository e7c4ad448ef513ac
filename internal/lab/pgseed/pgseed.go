// Package pgseed fills the tables of storage/postgres with COPY, for tests and
// benchmarks that need as many rows as a busy service has.
//
// The records are the same on every run, and their ids can be worked out: those
// of one kind rise with their number.
package pgseed

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/formsvc/formsvc/storage"
)

// Size says how many records there are to be. They belong to one user with one
// workspace. Others is how many other users there are, for each of whom there is
// one record of most kinds.
type Size struct {
	// Forms of the workspace. At least 1; the first one is the popular one.
	Forms int
	// Submissions of the popular form, a second apart.
	Submissions int
	// AnswerBytes is about the size of a submission's answers, of an event's body,
	// of a form's blocks and of the one document beside it.
	AnswerBytes int
	// Webhooks are spread over the forms, from the first one on.
	Webhooks int
	// Deliveries are due at Start and spread over the webhooks, with an event
	// each.
	Deliveries int
	// Attempts are spread over the webhooks; their events are gone.
	Attempts int
	// Partials are half responses of the popular form, saved a second apart. Every tenth was
	// submitted.
	Partials int
	// Others are users with a key, a workspace, a form, a submission, a half response and a day
	// of the funnel each. Of their forms every tenth is in the trash, and of the
	// workspaces of those every tenth is deleted.
	Others int
	// Minutes of the popular form's funnel, and as many days.
	Minutes int
	// Fresh leaves the tables as they are when they were just loaded: never analyzed,
	// and autovacuum leaves them alone.
	Fresh bool
}

// Start is when the first records of each kind were made.
func Start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// Kind tells the ids of different records apart.
type Kind byte

// The kinds of records. User and Workspace have the number 0.
const (
	User Kind = iota + 1
	Workspace
	Form
	Submission
	Webhook
	Event
	Attempt
	Key
	Partial
)

// ID returns the id of the record with this number.
func ID(k Kind, number int) storage.ID {
	var id storage.ID
	binary.BigEndian.PutUint32(id[:], uint32(Start().Unix()))
	id[4] = byte(k)
	binary.BigEndian.PutUint32(id[8:], uint32(number))
	return id
}

// KeyHash returns the hash of the key with this number.
func KeyHash(number int) [32]byte {
	var h [32]byte
	binary.BigEndian.PutUint64(h[:], uint64(number)*0x9e3779b97f4a7c15)
	return h
}

// Token returns the token of the half response with this number.
func Token(number int) [32]byte { return KeyHash(^number) }

func at(number int) time.Time { return Start().Add(time.Duration(number) * time.Second) }

// Answers returns an array of answers that is about n bytes long.
func Answers(n int) json.RawMessage {
	const one = `{"field":{"id":"question-%02d","type":"short_text","label":"Question %02d"},"value":"An answer of some length"}`
	parts := make([]string, 0, n/100+1)
	for i := range max(n/100, 1) {
		parts = append(parts, fmt.Sprintf(one, i, i))
	}
	return json.RawMessage("[" + strings.Join(parts, ",") + "]")
}

// table is what is copied into one table.
type table struct {
	name    string
	columns string
	rows    int
	row     func(i int) []any
}

// Fill copies the records into the tables of a schema, which are there and empty,
// and analyses them unless they are to stay fresh.
func Fill(ctx context.Context, pool *pgxpool.Pool, schema string, size Size) error {
	for _, t := range tables(size) {
		if size.Fresh {
			if _, err := pool.Exec(ctx, "ALTER TABLE "+pgx.Identifier{schema, t.name}.Sanitize()+" SET (autovacuum_enabled = false)"); err != nil {
				return err
			}
		}
		i := -1
		_, err := pool.CopyFrom(ctx, pgx.Identifier{schema, t.name}, strings.Fields(t.columns), pgx.CopyFromFunc(func() ([]any, error) {
			if i++; i == t.rows {
				return nil, nil
			}
			return t.row(i), nil
		}))
		if err != nil {
			return fmt.Errorf("fill %s: %w", t.name, err)
		}
		if size.Fresh {
			continue
		}
		// VACUUM makes what a running server has sooner or later: a visibility map.
		if _, err := pool.Exec(ctx, "VACUUM ANALYZE "+pgx.Identifier{schema, t.name}.Sanitize(), pgx.QueryExecModeExec); err != nil {
			return fmt.Errorf("analyse %s: %w", t.name, err)
		}
	}
	return nil
}

func tables(size Size) []table {
	var (
		none    = json.RawMessage(`{}`)
		answers = Answers(size.AnswerBytes)
		user    = bytesOf(User, 0)
		space   = bytesOf(Workspace, 0)
		hooks   = max(size.Webhooks, 1)
	)
	return []table{
		{"api_keys", "id user_id user_name user_email name prefix scopes hash created_at revoked_at", 1 + size.Others, func(i int) []any {
			hash := KeyHash(i)
			return []any{
				bytesOf(Key, i), bytesOf(User, i), "Ada", "ada@example.com", "Key", "fs_live_abcd", []string{"forms:read"}, hash[:],
				at(i), every(i, 10),
			}
		}},
		{"workspaces", "id public_id owner_id name created_at updated_at deleted_at tidied", 1 + size.Others, func(i int) []any {
			return []any{bytesOf(Workspace, i), fmt.Sprintf("w%d", i), bytesOf(User, i), "Workspace", at(i), at(i), every(i, 100), every(i, 100) != nil}
		}},
		{"workspace_users", "workspace_id user_id created_at is_owner", 1 + size.Others, func(i int) []any {
			return []any{bytesOf(Workspace, i), bytesOf(User, i), at(i), true}
		}},
		{
			"forms", "id public_id workspace_id name type status revision closed response_limit created_at updated_at trashed_at" +
				" format blocks settings theme variables hidden_fields", size.Forms + size.Others, func(i int) []any {
				other := max(i-size.Forms+1, 0)
				return []any{
					bytesOf(Form, i), fmt.Sprintf("f%d", i), bytesOf(Workspace, other), "Form", "SINGLE", storage.StatusPublished, int64(1),
					false, int64(0), at(i), at(i), every(other, 10), int32(1), answers, none, none, none, json.RawMessage(`[]`),
				}
			},
		},
		{"documents", "form_id kind key revision user_id created_at updated_at value_bytes value", size.Forms + size.Others, func(i int) []any {
			return []any{bytesOf(Form, i), "version", "0000000000000001", int64(1), user, at(i), at(i), int32(len(answers)), answers}
		}},
		{
			"webhooks", "id form_id workspace_id url enabled secret created_at updated_at", size.Webhooks, func(i int) []any {
				return []any{
					bytesOf(Webhook, i), bytesOf(Form, i%size.Forms), space, fmt.Sprintf("https://example.com/%d", i), true,
					user, at(i), at(i),
				}
			},
		},
		{"destinations", "webhook_id host", size.Webhooks, func(i int) []any { return []any{bytesOf(Webhook, i), fmt.Sprintf("host-%d.example", i)} }},
		{"submissions", "form_id id submitted_at completion_time answers metadata hidden form_revision json_bytes", size.Submissions + size.Others, func(i int) []any {
			return []any{formOf(i, size.Submissions, size.Forms), bytesOf(Submission, i), at(i), 12.5, answers, none, none, int64(1), int32(len(answers) + 2*len(none))}
		}},
		{"unique_answers", "form_id digest block_id rules copy submission_id", size.Submissions + size.Others, func(i int) []any {
			return []any{formOf(i, size.Submissions, size.Forms), bytesOf(Submission, i), "earlier", int32(1), int32(0), bytesOf(Submission, i)}
		}},
		{
			"partials", "token form_id id revision answers hidden metadata block seconds shared created_at saved_at ends_at submission_id",
			size.Partials + size.Others, func(i int) []any {
				token, row := Token(i), []any{formOf(i, size.Partials, size.Forms), bytesOf(Partial, i), int64(2)}
				if i%10 == 0 {
					row = append(row, nil, nil, nil, "", 0.0)
				} else {
					row = append(row, answers, none, none, "question-01", 12.5)
				}
				row = append(row, i%2 == 0, at(i), at(i), at(i).AddDate(0, 0, 30), nil)
				if i%10 == 0 {
					row[len(row)-1] = bytesOf(Submission, i)
				}
				return append([]any{token[:]}, row...)
			},
		},
		{"events", "id form_id submission_id type body refs", size.Deliveries, func(i int) []any {
			return []any{bytesOf(Event, i), bytesOf(Form, i%hooks%size.Forms), bytesOf(Submission, i), "form.response.completed", []byte(answers), int32(1)}
		}},
		{"deliveries", "webhook_id event_id queued_at token size", size.Deliveries, func(i int) []any {
			return []any{bytesOf(Webhook, i%hooks), bytesOf(Event, i), Start(), int64(0), int32(len(answers))}
		}},
		{"arrivals", "at webhook_id", min(size.Deliveries, size.Webhooks), func(i int) []any {
			return []any{Start(), bytesOf(Webhook, i)}
		}},
		{
			"attempts", "webhook_id id event_id event_type submission_id attempt http_status success error duration_us created_at",
			size.Attempts, func(i int) []any {
				return []any{
					bytesOf(Webhook, i%hooks), bytesOf(Attempt, i), bytesOf(Event, size.Deliveries+i), "form.response.completed",
					bytesOf(Submission, i), int32(1), int32(200), true, "", time.Millisecond.Microseconds(), at(i),
				}
			},
		},
		{"funnel_log", "form_id at views starts submissions", size.Minutes, func(i int) []any {
			return []any{bytesOf(Form, i%size.Forms), at(i), int64(1), int64(1), int64(1)}
		}},
		{"funnel_minutes", "form_id minute views starts submissions", size.Minutes + size.Others, func(i int) []any {
			return []any{formOf(i, size.Minutes, size.Forms), Start().Add(time.Duration(i) * time.Minute), int64(1), int64(1), int64(1)}
		}},
		{"funnel_days", "form_id day views starts submissions", size.Minutes + size.Others, func(i int) []any {
			return []any{formOf(i, size.Minutes, size.Forms), Start().AddDate(0, 0, i), int64(1), int64(1), int64(1)}
		}},
	}
}

// formOf returns the popular form for the first records and one of another user
// for each of the rest.
func formOf(i, popular, forms int) []byte {
	if i < popular {
		return bytesOf(Form, 0)
	}
	return bytesOf(Form, forms+i-popular)
}

// every returns a time for every nth number but 0, else nil.
func every(i, n int) any {
	if i == 0 || i%n != 0 {
		return nil
	}
	return at(i)
}

func bytesOf(k Kind, number int) []byte {
	id := ID(k, number)
	return id[:]
}
