package main

import (
	"context"
	"log"
	"net/http"
	"net/smtp"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/handler/formpage"
	"github.com/formsvc/formsvc/storage/memory"
)

func main() {
	svc := must(formsvc.New(formsvc.WithStorage(memory.New())))
	workspace := must(svc.CreateWorkspace(context.Background(), formsvc.UserIDFrom("team"), "Website"))
	form := must(svc.ParseForm([]byte(`{"name": "Contact", "type": "MULTI", "definition": {"blocks": [
		{"id": "email", "type": "email", "label": "Your email", "required": true},
		{"id": "message", "type": "long_text", "label": "Your message", "required": true}]}}`)))
	form.Workspace, form.PublicID = workspace.ID, "contact"
	must(svc.AsHost().EnsureForm(context.Background(), form))
	log.Println("http://127.0.0.1:8080/f/contact")
	log.Fatal(http.ListenAndServe("127.0.0.1:8080", must(formpage.New(svc, formpage.Config{Submit: submit}))))
}

func submit(ctx context.Context, p formsvc.SubmitParams, next func(context.Context, formsvc.SubmitParams) (formsvc.Submission, error)) (formsvc.Submission, error) {
	s, err := next(ctx, p)
	if err == nil {
		answers, _ := formsvc.DecodeAnswers(s) // two, because both questions are required
		mail := "Content-Type: text/plain; charset=utf-8\nSubject: Contact form\n\n" + answers[0].Value.String() + "\n\n" + answers[1].Value.String()
		go func() { // if the mail fails, the message remains stored, and the respondent does not wait
			if err := smtp.SendMail("127.0.0.1:25", nil, "forms@example.com", []string{"team@example.com"}, []byte(mail)); err != nil {
				log.Println("failed to send mail:", err)
			}
		}()
	}
	return s, err
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
