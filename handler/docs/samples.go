package docs

import (
	_ "embed"
	"fmt"
	"net/url"
	"strings"
	"text/template"
)

type sample struct{ Language, Code string }

var (
	//go:embed samples.txt
	sampleText string

	sampleTemplates = template.Must(template.New("").Funcs(template.FuncMap{
		"shell":  func(text string) string { return strings.ReplaceAll(text, "'", `'\''`) },
		"indent": func(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") },
		"literal": func(text string) string {
			if strings.Contains(text, "`") {
				return fmt.Sprintf("%q", text)
			}
			return "`" + text + "`"
		},
	}).Parse(sampleText))
)

// hostPlaceholder is the origin in examples if the real one is unknown. The script replaces it with the page's origin.
const hostPlaceholder = "https://api.example.com"

// requestSamples returns example requests. They contain the required parameters and the body's first example.
func (c *contents) requestSamples(op operation) ([]sample, error) {
	address := c.Server + op.Path
	if !strings.Contains(address, "://") {
		address = hostPlaceholder + address
	}
	for _, p := range op.Parameters {
		address = strings.ReplaceAll(address, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(p.Example)))
	}
	data := struct{ Method, Address, Key, Body string }{Method: op.Method, Address: address}
	if len(op.Security) > 0 {
		data.Key = c.key
	}
	if bodies := op.RequestBody.Content.JSON.All(); len(bodies) > 0 {
		data.Body = bodies[0].JSON()
	}
	var all []sample
	for _, language := range []string{"curl", "Go", "JavaScript"} {
		var code strings.Builder
		if err := sampleTemplates.ExecuteTemplate(&code, language, data); err != nil {
			return nil, err
		}
		all = append(all, sample{language, code.String()})
	}
	return all, nil
}
