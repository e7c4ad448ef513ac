package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"net/smtp"
	"slices"

	"github.com/formsvc/formsvc"
)

// mailer is the handler of the local webhook "mail". It sends each submission to the form's owner, and a receipt to the
// respondent if the form has an email block. The webhook's queue repeats a failed event, so a mail can arrive twice.
type mailer struct {
	server, from string // address of the SMTP server, and the sender
	accounts     *accounts
	service      *formsvc.Service
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
		err = m.send(owner, "New response: "+event.Response.FormName, text.String())
	}
	if err == nil && receipt != "" {
		err = m.send(receipt, "Your response: "+event.Response.FormName, text.String())
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

func (m *mailer) send(to, subject, text string) error {
	address, err := mail.ParseAddress(to) // rejects line breaks
	if err != nil {
		return err
	}
	var message bytes.Buffer
	fmt.Fprintf(&message, "From: %s\r\nTo: %s\r\nSubject: %s\r\nMIME-Version: 1.0\r\n", m.from, address, mime.QEncoding.Encode("utf-8", subject))
	message.WriteString("Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n")
	body := quotedprintable.NewWriter(&message)
	_, _ = body.Write([]byte(text)) // to a buffer
	_ = body.Close()
	return smtp.SendMail(m.server, nil, m.from, []string{address.Address}, message.Bytes())
}
