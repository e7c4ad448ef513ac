package conformance

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// racers is how many requests race in a case.
const racers = 8

func concurrencyCases() []testCase {
	return []testCase{
		{"concurrency/if-match", "Of concurrent writes with the same If-Match, exactly one succeeds, whichever writes they are.", nil, concurrencyIfMatch},
		{"concurrency/sections", "Concurrent writes of different sections do not undo each other.", nil, concurrencySections},
		{"concurrency/append", "Concurrent POST requests for different blocks are all stored.", nil, concurrencyAppend},
		{"concurrency/same-block", "Of concurrent POST requests for the same block, exactly one succeeds.", nil, concurrencySameBlock},
		{"concurrency/patch-blocks", "Concurrent PATCH requests for different blocks, and for different fields of one block, are all stored.", nil, concurrencyPatchBlocks},
		{"concurrency/delete", "Of concurrent DELETE requests for one form, exactly one returns 204, and the others return 404.", nil, concurrencyDelete},
		{"concurrency/response-limit", "Concurrent submissions never exceed responseLimit.", needs(NeedsSubmit), concurrencyResponseLimit},
	}
}

func concurrencyIfMatch(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	for round := range 4 {
		tag := w.get(form).want(http.StatusOK).etag()
		var through atomic.Int32
		s.parallel(racers, func(i int) {
			write := conditionals()[(round+i)%4] // the first four; the fifth needs a block to delete
			switch r := write.do(w.caller, form, ifMatch(tag)); r.status {
			case write.status:
				through.Add(1)
			default:
				r.refused("REVISION_MISMATCH")
				if r.header.Get("Etag") == tag {
					r.faultf("%s was rejected, but the ETag of the response is the one that the request sent", write.name)
				}
			}
		})
		if through.Load() != 1 {
			s.errorf("%d of %d concurrent writes with the same If-Match succeeded, want one", through.Load(), racers)
		}
	}
}

func concurrencySections(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	for round := range 5 {
		text := fmt.Sprint("round ", round)
		sections := []object{
			{"settings": object{"submitLabel": text}}, {"theme": object{"font": text}}, {"variables": object{"v": text}},
			{"hidden_fields": []any{text}}, {"blocks": []any{object{"id": "b", "type": "text", "label": text}}},
		}
		s.parallel(len(sections)+1, func(i int) {
			if i == len(sections) {
				c.patch(form, object{"name": text}).want(http.StatusOK)
				return
			}
			c.patch(form, object{"definition": sections[i]}).want(http.StatusOK)
		})
		r := c.get(form).want(http.StatusOK)
		r.same("name", r.object()["name"], text)
		for _, section := range sections {
			for name, value := range section {
				r.same(name, at(r.object(), "definition", name), value)
			}
		}
	}
}

func concurrencyAppend(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	var want []string
	for i := range racers {
		want = append(want, fmt.Sprint("n", i))
	}
	s.parallel(racers, func(i int) {
		c.post(form+"/blocks", object{"block": block(want[i])}).want(http.StatusCreated)
	})
	r := c.get(form + "/blocks").want(http.StatusOK)
	var ids []any
	for _, id := range r.ids() {
		ids = append(ids, id)
	}
	r.sameSet("the blocks", ids, want)
}

func concurrencySameBlock(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	var made atomic.Int32
	s.parallel(racers, func(int) {
		switch r := c.post(form+"/blocks", object{"block": block("same")}); r.status {
		case http.StatusCreated:
			made.Add(1)
		default:
			r.refused("BLOCK_EXISTS")
		}
	})
	r := c.get(form + "/blocks").want(http.StatusOK)
	r.same("the blocks", r.ids(), []string{"same"})
	if made.Load() != 1 {
		s.errorf("%d of %d concurrent POST requests for the same block succeeded, want one", made.Load(), racers)
	}
}

func concurrencyPatchBlocks(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace(), "definition", question())
	s.parallel(4, func(i int) {
		switch i {
		case 0:
			c.patch(form+"/blocks/b1", object{"block": object{"label": "L"}}).want(http.StatusOK)
		case 1:
			c.patch(form+"/blocks/b1", object{"block": object{"description": "D"}}).want(http.StatusOK)
		case 2:
			c.patch(form+"/blocks/b2", object{"block": object{"required": true}}).want(http.StatusOK)
		default:
			c.post(form+"/blocks", object{"block": block("b3")}).want(http.StatusCreated)
		}
	})
	r := c.get(form + "/blocks").want(http.StatusOK)
	r.same("the blocks", r.items(), []any{
		object{"id": "b1", "type": "short_text", "label": "L", "description": "D"},
		object{"id": "b2", "type": "short_text", "label": "Label of b2", "required": true},
		block("b3"),
	})
}

func concurrencyDelete(s *session) {
	c := s.caller()
	form := "/forms/" + c.form(c.workspace())
	var gone atomic.Int32
	s.parallel(racers, func(int) {
		switch r := c.delete(form); r.status {
		case http.StatusNoContent:
			gone.Add(1)
		default:
			r.refused("NOT_FOUND")
		}
	})
	if gone.Load() != 1 {
		s.errorf("%d of %d concurrent DELETE requests returned 204, want one", gone.Load(), racers)
	}
}

func concurrencyResponseLimit(s *session) {
	c := s.caller()
	id := c.form(c.workspace(), "definition", object{"settings": object{"responseLimit": 3}})
	c.publish(id)
	s.parallel(racers, func(int) {
		_, _ = s.target.Submit(s.ctx, Response{Form: id}) // all but three are refused
	})
	r := c.get("/forms/" + id + "/submissions").want(http.StatusOK)
	r.same("the number of submissions", len(r.items()), 3)
}
