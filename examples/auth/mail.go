package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/wneessen/go-mail"

	"github.com/formsvc/formsvc"
)

// mailer is the handler of the local webhook "mail". It sends each submission to the form's owner, and a receipt to the
// respondent if the form has an email block. The webhook's queue repeats a failed event, so a mail can arrive twice.
type mailer struct {
	client   *mail.Client // for the SMTP server
	from     string
	accounts *accounts
	service  *formsvc.Service
}

// register creates the webhook for all forms, once.
func (m *mailer) register(ctx context.Context) error {
	local := m.service.LocalWebhooks()
	found, err := local.FormWebhooks(ctx, formsvc.ID{})
	if err == nil && len(found) == 0 {
		_, err = local.CreateWebhook(ctx, formsvc.WebhookCreate{URL: "local:mail", FormDetails: true})
	}
	return err
}

func (m *mailer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event struct {
		Response struct {
			FormID    formsvc.ID
			FormName  string
			Answers   map[string]any
			Questions map[string]struct{ Label, Type string }
		}
	}
	if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var text bytes.Buffer
	receipt := ""
	for _, id := range slices.Sorted(maps.Keys(event.Response.Questions)) {
		q := event.Response.Questions[id]
		if answer, ok := event.Response.Answers[id]; ok {
			fmt.Fprintf(&text, "%s: %v\r\n", q.Label, answer)
			if q.Type == "email" {
				receipt, _ = answer.(string)
			}
		}
	}
	owner, err := m.owner(r.Context(), event.Response.FormID)
	if err == nil {
		err = m.send(r.Context(), owner, "New response: "+event.Response.FormName, text.String())
	}
	if err == nil && receipt != "" {
		err = m.send(r.Context(), receipt, "Your response: "+event.Response.FormName, text.String())
		if rejected, ok := errors.AsType[*mail.SendError](err); ok && rejected.ErrorCode() >= 500 {
			err = nil // the respondent's address does not work, and another attempt would repeat the owner's mail
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable) // the event is repeated later
	}
}

// owner returns the email address of a form's owner. A larger product stores the formsvc.ID in a column of its table.
func (m *mailer) owner(ctx context.Context, id formsvc.ID) (address string, err error) {
	form, err := m.service.AsHost().Form(ctx, id)
	if err != nil {
		return "", err
	}
	workspace, err := m.service.AsHost().Workspace(ctx, form.WorkspaceID)
	if err != nil {
		return "", err
	}
	rows, err := m.accounts.pool.Query(ctx, `SELECT id, name, email FROM accounts`)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	for rows.Next() {
		var a account
		if err := rows.Scan(&a.ID, &a.Name, &a.Email); err != nil {
			return "", err
		}
		if a.user().ID == workspace.OwnerID {
			return a.Email, nil
		}
	}
	return "", fmt.Errorf("the owner of form %s has no account: %w", id, rows.Err())
}

func (m *mailer) send(ctx context.Context, to, subject, text string) error {
	message := mail.NewMsg()
	if err := errors.Join(message.From(m.from), message.To(to)); err != nil {
		return err
	}
	message.Subject(subject)
	message.SetBodyString(mail.TypeTextPlain, text)
	return m.client.DialAndSendWithContext(ctx, message)
}
