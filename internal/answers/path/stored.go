package path

import (
	"encoding/json"
	"math"
	"slices"
	"time"

	"github.com/formsvc/formsvc/internal/answers/check"
	"github.com/formsvc/formsvc/internal/answers/compile"
	"github.com/formsvc/formsvc/internal/logic"
	"github.com/formsvc/formsvc/schema"
)

// StoredInput converts stored answers to the input of a submission at a time, so that [Check] can check them again.
// Values of variables are left out, because rules compute them.
func StoredInput(f *compile.Form, list []schema.Answer, at time.Time) check.Input {
	in := check.Input{Answers: map[string]json.RawMessage{}, HostAnswers: map[string]json.RawMessage{}, Hidden: map[string]string{}, Now: at}
	for i := range list {
		switch a := &list[i]; {
		case a.Type == schema.TypeVariable:
		case a.Type == schema.TypeHidden:
			in.Hidden[a.ID] = a.String()
		case IsFromHost(f, a):
			in.HostAnswers[a.ID] = sentAnswer(a)
		default:
			in.Answers[a.ID] = sentAnswer(a)
		}
	}
	return in
}

// Has reports whether the form has the block of a stored answer with the same type, or declares its hidden field.
func Has(f *compile.Form, a *schema.Answer) bool {
	if a.Type == schema.TypeHidden {
		return slices.ContainsFunc(f.Hidden, func(h compile.Hidden) bool { return h.Name == a.ID })
	}
	at, ok := f.Index[a.ID]
	return ok && f.Blocks[at].Type == a.Type
}

// IsFromHost reports whether only the host may give an answer, because of its type or its block.
func IsFromHost(f *compile.Form, a *schema.Answer) bool {
	known, _ := schema.LookupBlockType(a.Type)
	at, ok := f.Index[a.ID]
	return known.Answerer == schema.Host || ok && (f.Blocks[at].Host || f.Blocks[at].Hide)
}

// sentAnswer returns an answer as a respondent sends it. Stored choices also have labels.
func sentAnswer(a *schema.Answer) json.RawMessage {
	switch known, _ := schema.LookupBlockType(a.Type); known.Shape {
	case schema.ShapeChoice, schema.ShapeChoices, schema.ShapeRanking, schema.ShapeMatrix:
		budget := logic.NewBudget(math.MaxInt)
		sent, err := json.Marshal(StoredRuleValue(known.Shape, a.JSON, &budget))
		if err == nil { // always, because the value has only IDs, in lists and objects
			return sent
		}
	}
	return a.JSON
}
