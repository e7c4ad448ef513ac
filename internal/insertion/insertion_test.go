package insertion

import (
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

func TestResolve(t *testing.T) {
	form := map[string]bool{
		"answers.n": true, "answers.a.b": true, "answers.a": true, "answers.who": true, "answers.x.city": true, "answers.x": true, "answers.m:2": true, "answers.m": true,
		"answers. s": true, "variables.total": true, "variables.t.city": true, "hidden.ref": true, "answers.": true, "answers.today": true,
	}
	for name, want := range map[string]Reference{
		"today": {Today, "", "", -1}, " today ": {Today, "", "", -1}, "answers.today": {Answers, "today", "", -1},
		"answers.n": {Answers, "n", "", -1}, " answers.n\t": {Answers, "n", "", -1}, "answers.n:0": {Answers, "n", "", 0}, "answers.n:10": {Answers, "n", "", 10},
		"answers.who.firstName": {Answers, "who", "firstName", -1}, "answers.who.zip:2": {Answers, "who", "zip", 2},
		"answers.a.b": {Answers, "a.b", "", -1}, "answers.a.b.city": {Answers, "a.b", "city", -1},
		"answers.x.city": {Answers, "x.city", "", -1}, "answers.x.city.city": {Answers, "x.city", "city", -1},
		"answers.m:2": {Answers, "m:2", "", -1}, "answers.m:2:2": {Answers, "m:2", "", 2}, "answers.m:3": {Answers, "m", "", 3},
		"answers. s": {Answers, " s", "", -1}, "answers.": {Answers, "", "", -1},
		"variables.total:2": {Variables, "total", "", 2}, "variables.t.city": {Variables, "t.city", "", -1}, "hidden.ref": {Hidden, "ref", "", -1},
	} {
		got, ok := Resolve(name, func(source, id string) bool { return form[source+"."+id] })
		expect.That(t, ok && got == want, "%q: %+v %t", name, got, ok)
	}
	for _, name := range []string{
		"", " ", "n", "answers", "answer.n", "today:2", "today.n", "answers.n:11", "answers.n:-1", "answers.n:+1", "answers.n:01", "answers.n:", "answers.n:1:1",
		"answers.who.nickname", "answers.who.firstName.x", "variables.total.city", "hidden.ref.city", "hidden.n", "answers.N", "answers.n .city",
	} {
		got, ok := Resolve(name, func(source, id string) bool { return form[source+"."+id] })
		expect.That(t, !ok, "%q resolves to %+v", name, got)
	}
}

func TestHasValue(t *testing.T) {
	for k := range schema.BlockTypes() {
		want := k.Shape != "" && k.Type != schema.TypeFileUpload && k.Type != schema.TypeSignature && k.Type != schema.TypeMatrix && k.Type != schema.TypePayment
		expect.Equal(t, HasValue(k.Shape, ""), want, "%s", k.Type)
		expect.Equal(t, HasValue(k.Shape, "city"), k.Type == schema.TypeAddress || k.Type == schema.TypeContactInfo, "a part of %s", k.Type)
	}
}
