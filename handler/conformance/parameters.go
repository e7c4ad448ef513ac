package conformance

import (
	"net/http"
	"net/url"
)

func parameterCases() []testCase {
	return []testCase{
		{"parameters/limit", "limit is an integer from 1 to 100; any other value returns 422 at query:limit.", nil, parametersLimit},
		{"parameters/empty", "A parameter with an empty value returns 422, like an invalid value.", nil, parametersEmpty},
		{"parameters/workspace", "workspace_id in a query returns 422 if it is not an ID, and 404 if there is no such workspace.", nil, parametersWorkspace},
		{"parameters/times", "since and until are RFC 3339 times; any other value, or a since after until, returns 422.", nil, parametersTimes},
		{"parameters/period", "period is one of the described values; any other value returns 422 at query:period.", nil, parametersPeriod},
		{"parameters/malformed-query", "A malformed query returns 422 at query for every operation with a query, because it could contain a filter.", nil, parametersMalformedQuery},
		{"parameters/all-at-once", "All invalid parameters are reported in one response, sorted.", nil, parametersAllAtOnce},
	}
}

func parametersLimit(s *session) {
	w := s.newWorld()
	for _, path := range []string{"/workspaces", "/forms", "/forms/" + w.formID + "/submissions"} {
		for _, good := range []string{"1", "20", "100"} {
			w.get(path + "?limit=" + good).want(http.StatusOK)
		}
		for _, bad := range []string{"0", "101", "-1", "abc", "1.5", "1e1", "0x10", "99999999999999999999", "%20", "1%00", "٣", "1,2", "null"} {
			w.get(path + "?limit=" + bad).invalid(violations{"query:limit": ""})
		}
	}
}

func parametersEmpty(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	w.get("/workspaces?limit=").invalid(violations{"query:limit": ""})
	w.get("/forms?workspace_id=").invalid(violations{"query:workspace_id": ""})
	w.get(form + "/submissions?since=&until=").invalid(violations{"query:since": "", "query:until": ""})
	w.get(form + "/analytics/metrics?period=").invalid(violations{"query:period": ""})
}

func parametersWorkspace(s *session) {
	w := s.newWorld()
	for _, bad := range []string{"x", w.workspaceID[1:], w.workspaceID + "0", "g" + w.workspaceID[1:], "%00"} {
		w.get("/forms?workspace_id=" + bad).invalid(violations{"query:workspace_id": ""})
	}
	w.get("/forms?workspace_id=" + newID()).wantError("NOT_FOUND")
}

func parametersTimes(s *session) {
	w := s.newWorld()
	path := "/forms/" + w.formID + "/submissions"
	for _, good := range []string{"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05+05:30", "2026-01-02t03:04:05z", "0001-01-01T00:00:01Z", "9999-12-31T23:59:59Z"} {
		w.get(path + "?since=" + url.QueryEscape(good)).want(http.StatusOK)
		w.get(path + "?until=" + url.QueryEscape(good)).want(http.StatusOK)
	}
	for _, name := range []string{"since", "until"} {
		for _, bad := range []string{"x", "2026-01-02", "2026-01-02T03:04:05", "2026-02-30T00:00:00Z", "1700000000", "2026-01-02T25:00:00Z", "20260102T030405Z", "%00"} {
			w.get(path + "?" + name + "=" + bad).invalid(violations{"query:" + name: ""})
		}
	}
	r := w.get(path + "?since=2026-01-02T00:00:01Z&until=2026-01-02T00:00:00Z").refused("VALIDATION_FAILED")
	if len(r.errorBody().details) == 0 {
		r.faultf("the error has no details")
	}
	w.get(path + "?since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z").want(http.StatusOK)
}

func parametersPeriod(s *session) {
	w := s.newWorld()
	path := "/forms/" + w.formID + "/analytics/metrics"
	for _, bad := range []string{"x", "31d", "30D", "TODAY", "1h", "30d%20", "all,30d"} {
		w.get(path + "?period=" + bad).invalid(violations{"query:period": ""})
	}
}

func parametersMalformedQuery(s *session) {
	w := s.newWorld()
	form := "/forms/" + w.formID
	for _, path := range []string{"/workspaces", "/forms", form + "/submissions", form + "/analytics/metrics"} {
		for _, bad := range []string{"period=7d;x", "limit=%zz", "%", "a;b"} {
			w.get(path + "?" + bad).invalid(violations{"query": ""})
		}
	}
}

func parametersAllAtOnce(s *session) {
	w := s.newWorld()
	w.get("/forms/" + w.formID + "/submissions?until=x&since=x&limit=x").invalid(violations{"query:limit": "", "query:since": "", "query:until": ""})
	w.get("/forms?workspace_id=x&limit=x").invalid(violations{"query:limit": "", "query:workspace_id": ""})
}
