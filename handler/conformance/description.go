package conformance

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

func descriptionCases() []testCase {
	return []testCase{
		{"description/public", "GET /openapi.json requires no key and ignores an invalid key.", nil, descriptionPublic},
		{"description/content", "The API description is OpenAPI 3.1 with the version 2026-08-01 and all operations.", nil, descriptionContent},
		{"description/paths", "The servers and paths of the API description are those of the service.", nil, descriptionPaths},
		{"description/references", "Every reference in the API description refers to an existing part of it.", nil, descriptionReferences},
		{"description/cacheable", "The API description can be cached, and a request with its ETag in If-None-Match returns 304.", nil, descriptionCacheable},
	}
}

func descriptionPublic(s *session) {
	r := s.nobody().get("/openapi.json").want(http.StatusOK)
	for _, key := range []string{"nonsense", s.caller().key} {
		got := s.nobody().get("/openapi.json", withKey(key)).want(http.StatusOK)
		got.same("the body", string(got.body), string(r.body))
	}
}

func descriptionContent(s *session) {
	r := s.nobody().get("/openapi.json").want(http.StatusOK)
	o := r.object()
	if !strings.HasPrefix(text(o, "openapi"), "3.1.") {
		r.faultf("openapi is %v, want 3.1", o["openapi"])
	}
	r.same("info.version", at(o, "info", "version"), "2026-08-01")
	var got, want []string
	paths, _ := o["paths"].(object)
	for _, item := range paths {
		methods, _ := item.(object)
		for _, operation := range methods {
			if id, ok := at(operation, "operationId").(string); ok {
				got = append(got, id)
			}
		}
	}
	for _, operation := range operations() {
		want = append(want, operation.id)
	}
	want = append(want, "getOpenAPI")
	slices.Sort(got)
	slices.Sort(want)
	r.same("the operations", got, want)
}

func descriptionPaths(s *session) {
	r := s.nobody().get("/openapi.json").want(http.StatusOK)
	servers, _ := r.object()["servers"].([]any)
	if len(servers) == 0 {
		r.fatalf("the API description has no servers")
	}
	server, _ := at(servers[0], "url").(string)
	paths, _ := r.object()["paths"].(object)
	want := make(map[string][]string)
	for path, methods := range methodsByPath() {
		want[path] = methods
	}
	for path, item := range paths {
		below := ""
		for known := range want {
			if strings.HasSuffix(path, known) && len(known) > len(below) {
				below = known
			}
		}
		methods, _ := item.(object)
		for _, method := range want[below] {
			if _, ok := methods[strings.ToLower(method)]; !ok {
				r.faultf("the path %s of the API description has no operation %s", path, method)
			}
		}
		delete(want, below)
		if !strings.Contains(path, "{") {
			r.checkLink("a path of the description", strings.TrimSuffix(server, "/")+path, below)
		}
	}
	for path := range want {
		r.faultf("the API description has no path %s", path)
	}
}

func descriptionReferences(s *session) {
	r := s.nobody().get("/openapi.json").want(http.StatusOK)
	root := r.object()
	count := 0
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case object:
			if ref, ok := v["$ref"].(string); ok {
				var at any = root
				for token := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
					o, _ := at.(object)
					at = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
				}
				if count++; at == nil {
					r.faultf("the API description refers to %s, which does not exist", ref)
				}
			}
			for _, part := range v {
				visit(part)
			}
		case []any:
			for _, part := range v {
				visit(part)
			}
		}
	}
	visit(root)
	for _, o := range operations() {
		path, _ := at(root, "paths").(object)
		for name, item := range path {
			if !strings.HasSuffix(name, o.path) || at(item, strings.ToLower(o.method), "operationId") != o.id {
				continue
			}
			if responses, _ := at(item, strings.ToLower(o.method), "responses").(object); responses[strconv.Itoa(o.status)] == nil {
				r.faultf("%s declares no response with status %d", o.id, o.status)
			}
		}
	}
	if count == 0 {
		r.faultf("the API description contains no reference to its schemas")
	}
}

func descriptionCacheable(s *session) {
	r := s.nobody().get("/openapi.json").want(http.StatusOK)
	if cache := r.header.Get("Cache-Control"); !strings.Contains(cache, "public") || strings.Contains(cache, "no-store") {
		r.faultf("Cache-Control is %q, want public", cache)
	}
	tag := r.header.Get("Etag")
	if tag == "" {
		r.fatalf("the response has no ETag")
	}
	for _, match := range []string{tag, "*", `"other", ` + tag, "W/" + strings.TrimPrefix(tag, "W/")} {
		not := s.nobody().get("/openapi.json", withHeader("If-None-Match", match)).want(http.StatusNotModified)
		not.same("ETag", not.header.Get("Etag"), tag)
		s.nobody().call(http.MethodHead, "/openapi.json", nil, withHeader("If-None-Match", match)).want(http.StatusNotModified)
	}
	s.nobody().get("/openapi.json", withHeader("If-None-Match", `"other"`)).want(http.StatusOK)
}
