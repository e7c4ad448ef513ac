package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// pagedList is one of the three lists with pages.
type pagedList struct {
	name  string
	path  string
	time  string
	add   func() string
	drop  func(id string)
	other string // the same list with another filter

	shared bool // it has records of other cases as well
}

func pagingCases() []testCase {
	var out []testCase
	for _, l := range []struct {
		name  string
		needs []Feature
		open  func(c *caller) pagedList
	}{
		{"workspaces", nil, openWorkspaces},
		{"forms", nil, openForms},
		{"submissions", needs(NeedsSubmit), openSubmissions},
	} {
		add := func(name, sentence string, run func(s *session, c *caller, list pagedList)) {
			out = append(out, testCase{"paging/" + l.name + "-" + name, "In the list of " + l.name + ", " + sentence, l.needs, func(s *session) {
				c := s.caller()
				run(s, c, l.open(c))
			}})
		}
		add("walk", "pages of any size contain every record exactly once and in order, and the last page has no cursor.", walkPages)
		add("default", "a page has 20 records by default, and a full last page has no cursor.", defaultPage)
		if l.name != "workspaces" { // an owner has at most 100
			add("largest", "a page has up to 100 records.", largestPage)
		}
		add("cursor", "a modified, unknown or invented cursor, or a cursor for other filters, returns INVALID_CURSOR.", refusedCursors)
		add("stable", "if records are added and removed between pages, no record that existed throughout is repeated or omitted.", stablePages)
		add("rotation", "a cursor works with another key of the same user and with another limit.", rotatedKey)
	}
	return out
}

func openWorkspaces(c *caller) pagedList {
	return pagedList{
		name: "workspaces", path: "/workspaces", time: "created_at", add: c.workspace, shared: c.target.CreateKey == nil,
		drop: func(id string) { c.delete("/workspaces/" + id).want(http.StatusNoContent) },
	}
}

func openForms(c *caller) pagedList {
	workspace := c.workspace()
	path, other := "/forms", "/forms?workspace_id="+workspace
	if c.target.CreateKey == nil { // the user has other forms as well
		path, other = other, path
	}
	return pagedList{
		name: "forms", path: path, time: "created_at", add: func() string { return c.form(workspace) },
		drop:  func(id string) { c.delete("/forms/" + id).want(http.StatusNoContent) },
		other: other,
	}
}

func openSubmissions(c *caller) pagedList {
	form := c.form(c.workspace())
	c.publish(form)
	path := "/forms/" + form + "/submissions"
	return pagedList{
		name: "submissions", path: path, time: "submitted_at", add: func() string { return c.submit(Response{Form: form}) },
		drop:  func(id string) { c.delete(path + "/" + id).want(http.StatusNoContent) },
		other: path + "?since=2001-01-01T00:00:00Z",
	}
}

// page reads one page and returns it with the next cursor, "" at the end.
func (c *caller) page(path string) (r *response, next string) {
	r = c.get(path).want(http.StatusOK)
	r.checkMembers(r.object(), []string{"items", "page"})
	page, _ := r.object()["page"].(object)
	r.checkMembers(page, []string{"has_more", "next_cursor"})
	switch more, cursor := page["has_more"], page["next_cursor"]; {
	case more == false && cursor == nil:
	case more == true && cursorPattern.MatchString(text(page, "next_cursor")):
		next = text(page, "next_cursor")
	default:
		r.fatalf("has_more is %v and next_cursor is %v, want true with a URL-safe cursor, or false with null", more, cursor)
	}
	return r, next
}

// walk reads all pages of a list and returns the ids in order.
func (c *caller) walk(list pagedList, limit int) []string {
	var ids []string
	path := with(list.path, fmt.Sprint("limit=", limit))
	last := ""
	for next := ""; ; {
		at := path
		if next != "" {
			at += "&cursor=" + next
		}
		r, following := c.page(at)
		for _, o := range r.items() {
			key := text(o, list.time) + " " + text(o, "id")
			if last != "" && key >= last {
				r.faultf("%s is listed after %s, want newest first by (%s, id)", key, last, list.time)
			}
			last = key
			ids = append(ids, text(o, "id"))
		}
		if following != "" && len(r.items()) != limit {
			r.faultf("a page that is not the last has %d records, want %d", len(r.items()), limit)
		}
		if following == "" {
			return ids
		}
		if len(ids) > 10_000 {
			r.fatalf("the list of pages does not end")
		}
		next = following
	}
}

// walkOwn is walk without the records of other cases.
func (c *caller) walkOwn(list pagedList, limit int) []string {
	ids := c.walk(list, limit)
	if !list.shared {
		return ids
	}
	return c.ownOf(ids)
}

// with adds a parameter to a path.
func with(path, parameter string) string {
	if strings.Contains(path, "?") {
		return path + "&" + parameter
	}
	return path + "?" + parameter
}

func walkPages(s *session, c *caller, list pagedList) {
	var made []string
	for range 7 {
		made = append(made, list.add())
	}
	limits := []int{1, 2, 3, 6, 7, 8, 100}
	if list.shared {
		limits = []int{5, 100}
	}
	for _, limit := range limits {
		got := c.walkOwn(list, limit)
		slices.Sort(got)
		slices.Sort(made)
		if !slices.Equal(got, made) {
			s.errorf("pages of %d contain %d records in total, want each of the %d records once", limit, len(got), len(made))
		}
	}
}

func defaultPage(s *session, c *caller, list pagedList) {
	for range 20 {
		list.add()
	}
	r, next := c.page(list.path)
	if !list.shared && (len(r.items()) != 20 || next != "") {
		r.faultf("the page has %d records and the cursor %q, want all 20 records and no cursor", len(r.items()), next)
	}
	list.add()
	r, next = c.page(list.path)
	if len(r.items()) != 20 || next == "" {
		r.fatalf("the page has %d of 21 records and the cursor %q, want 20 records and a cursor", len(r.items()), next)
	}
	if list.shared {
		return
	}
	r, next = c.page(with(list.path, "cursor="+next))
	if len(r.items()) != 1 || next != "" {
		r.faultf("the last page has %d records and the cursor %q, want 1 record and no cursor", len(r.items()), next)
	}
}

func largestPage(s *session, c *caller, list pagedList) {
	for range 101 {
		list.add()
	}
	r, next := c.page(with(list.path, "limit=100"))
	if len(r.items()) != 100 || next == "" {
		r.fatalf("the page has %d of 101 records and the cursor %q, want 100 records and a cursor", len(r.items()), next)
	}
	r, next = c.page(with(list.path, "limit=100&cursor="+next))
	if len(r.items()) != 1 || next != "" {
		r.faultf("the last page has %d records and the cursor %q, want 1 record and no cursor", len(r.items()), next)
	}
}

func refusedCursors(s *session, c *caller, list pagedList) {
	for range 3 {
		list.add()
	}
	_, cursor := c.page(with(list.path, "limit=1"))
	refuse := func(c *caller, path, cursor string) { c.get(with(path, "cursor="+cursor)).refused("INVALID_CURSOR") }
	for i := range len(cursor) {
		for _, other := range []byte{'A', 'B', cursor[i] ^ 1, cursor[i] ^ 32} {
			altered := cursor[:i] + string(other) + cursor[i+1:]
			if other != cursor[i] && cursorPattern.MatchString(altered) {
				refuse(c, list.path, altered)
			}
		}
	}
	for _, bad := range []string{"x", "0", "null", cursor + "A", cursor + "=", cursor + "AAAA", cursor[:len(cursor)-1], cursor[1:], cursor + cursor, newID(), "%00", "%FF", "eyJpZCI6MX0", strings.Repeat("A", 5000)} {
		refuse(c, list.path, bad)
	}
	if list.other != "" {
		refuse(c, list.other, cursor)
		_, filtered := c.page(with(list.other, "limit=1"))
		refuse(c, list.path, filtered)
	}
	if s.target.CreateKey != nil {
		stranger := s.caller()
		foreign := openWorkspaces(stranger)
		foreign.add()
		foreign.add()
		_, theirs := stranger.page("/workspaces?limit=1")
		refuse(c, list.path, theirs)
		refuse(stranger, "/workspaces", cursor)
	}
	if list.name != "workspaces" {
		refuse(c, "/workspaces", cursor)
	}
	if list.name != "forms" {
		refuse(c, "/forms", cursor)
	}
	c.get(with(list.path, "cursor="+cursor)).want(http.StatusOK)
}

func stablePages(s *session, c *caller, list pagedList) {
	for range 12 {
		list.add()
	}
	order := c.walkOwn(list, 100)
	if len(order) != 12 {
		s.fatalf("the list has %d of the records that the case created, want 12", len(order))
	}
	first, next := c.page(with(list.path, "limit=4"))
	seen := first.ids()
	// A record that was seen, the one that the cursor names, and one ahead go; three
	// come, so that numbers of records do not happen to fit.
	gone := []string{order[1], order[3], order[6]}
	for _, id := range gone {
		list.drop(id)
	}
	for range 3 {
		list.add()
	}
	for next != "" {
		var r *response
		r, next = c.page(with(list.path, "limit=4&cursor="+next))
		seen = append(seen, r.ids()...)
	}
	for i, id := range order {
		want := 1
		if slices.Contains(gone, id) && !slices.Contains(first.ids(), id) {
			want = 0 // deleted before its page was read
		}
		got := 0
		for _, x := range seen {
			if x == id {
				got++
			}
		}
		if got != want {
			s.errorf("record %d of the first list appeared %d times, want %d", i, got, want)
		}
	}
}

func rotatedKey(s *session, c *caller, list pagedList) {
	for range 6 {
		list.add()
	}
	order := c.walk(list, 100)
	_, next := c.page(with(list.path, "limit=2"))
	if c.target.CreateKey != nil {
		c = c.withScopes(scopes()...)
	}
	r, _ := c.page(with(list.path, "limit=3&cursor="+next))
	r.same("the ids", r.ids(), order[2:5])
}
