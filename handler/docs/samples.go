package docs

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// sample is one way to send a request.
type sample struct{ Language, Code string }

// samples are requests that can be copied: the parameters that are required, and the
// first example of the body.
func (b builder) samples(op operationView, parameters []parameter) []sample {
	path := op.Path
	for _, p := range parameters {
		if p.In == "path" {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(fmt.Sprint(p.Example)))
		}
	}
	address := b.server
	if !strings.Contains(address, "://") {
		address = hostPlaceholder + address
	}
	address += path
	body := ""
	if op.Body != nil && len(op.Body.Examples) > 0 {
		body = op.Body.Examples[0].JSON
	}
	return []sample{
		{"curl", curl(op, address, b.key, body)},
		{"Go", goCode(op, address, b.key, body)},
		{"JavaScript", javaScript(op, address, b.key, body)},
	}
}

// hostPlaceholder stands for the host where the service does not know its own
// address. The page's script puts in the one that the page came from.
const hostPlaceholder = "https://api.example.com"

func curl(op operationView, address, key, body string) string {
	lines := []string{"curl -sS '" + address + "'"}
	if op.Method != http.MethodGet {
		lines[0] = "curl -sS -X " + op.Method + " '" + address + "'"
	}
	if !op.Public {
		lines = append(lines, "-H 'X-API-Key: "+key+"'")
	}
	if body != "" {
		lines = append(lines, "-H 'Content-Type: application/json'", "-d '"+strings.ReplaceAll(body, "'", `'\''`)+"'")
	}
	return strings.Join(lines, " \\\n  ")
}

func goCode(op operationView, address, key, body string) string {
	var b strings.Builder
	reader := "nil"
	if body != "" {
		reader = "strings.NewReader(body)"
		quoted := "`" + body + "`"
		if strings.Contains(body, "`") {
			quoted = fmt.Sprintf("%q", body)
		}
		fmt.Fprintf(&b, "body := %s\n", quoted)
	}
	fmt.Fprintf(&b, "req, err := http.NewRequestWithContext(ctx, %q,\n\t%q, %s)\nif err != nil {\n\treturn err\n}\n", op.Method, address, reader)
	if !op.Public {
		fmt.Fprintf(&b, "req.Header.Set(\"X-API-Key\", %q)\n", key)
	}
	if body != "" {
		b.WriteString("req.Header.Set(\"Content-Type\", \"application/json\")\n")
	}
	b.WriteString("res, err := http.DefaultClient.Do(req)\nif err != nil {\n\treturn err\n}\ndefer res.Body.Close()")
	return b.String()
}

func javaScript(op operationView, address, key, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "const res = await fetch(%q, {\n", address)
	if op.Method != http.MethodGet {
		fmt.Fprintf(&b, "  method: %q,\n", op.Method)
	}
	var headers []string
	if !op.Public {
		headers = append(headers, fmt.Sprintf("    \"X-API-Key\": %q,\n", key))
	}
	if body != "" {
		headers = append(headers, "    \"Content-Type\": \"application/json\",\n")
	}
	if len(headers) > 0 {
		b.WriteString("  headers: {\n" + strings.Join(headers, "") + "  },\n")
	}
	if body != "" {
		fmt.Fprintf(&b, "  body: JSON.stringify(%s),\n", strings.ReplaceAll(body, "\n", "\n  "))
	}
	b.WriteString("});\n")
	if op.Method == http.MethodDelete {
		b.WriteString("console.log(res.status);")
	} else {
		b.WriteString("console.log(await res.json());")
	}
	return b.String()
}
