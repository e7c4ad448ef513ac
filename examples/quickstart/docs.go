package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/formsvc/formsvc/schema"
)

// newDocs renders the API description once. It is the document that the service
// serves at /v1/openapi.json, made readable without anything from elsewhere.
func newDocs() (http.Handler, error) {
	var d document
	if err := json.Unmarshal(schema.OpenAPI(), &d); err != nil {
		return nil, fmt.Errorf("API description: %w", err)
	}
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, "docs.html", d.view()); err != nil {
		return nil, fmt.Errorf("API description: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page.Bytes())
	}), nil
}

// document is as much of an OpenAPI 3.1 document as the page shows.
type document struct {
	Info       struct{ Title, Version, Description string }
	Tags       []struct{ Name, Description string }
	Paths      ordered[pathItem]
	Webhooks   ordered[pathItem]
	Components struct {
		Parameters ordered[parameter]
		Responses  ordered[response_]
		Schemas    ordered[node]
	}
}

type pathItem struct {
	Parameters                    []parameter
	Get, Post, Put, Patch, Delete *operation
}

type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Security                          []map[string][]string
	Parameters                        []parameter
	RequestBody                       *response_
	Responses                         ordered[response_]
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name, In    string
	Description string
	Required    bool
	Schema      node
}
