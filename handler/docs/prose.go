package docs

import (
	"html"
	"html/template"
	"regexp"
	"strings"
)

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	blankLine = regexp.MustCompile(`\n\s*\n`)
)

// renderInline renders text that contains `code` spans. It escapes the text before it adds tags.
func renderInline(text string) template.HTML {
	return template.HTML(codeSpan.ReplaceAllString(html.EscapeString(text), "<code>$1</code>")) //nolint:gosec // escaped
}

// renderProse renders the Markdown used in descriptions: paragraphs, headings, lists, tables and `code`.
func renderProse(text string) template.HTML {
	var out strings.Builder
	for _, part := range blankLine.Split(strings.TrimSpace(text), -1) {
		part = string(renderInline(part))
		switch {
		case part == "":
		case strings.HasPrefix(part, "## "):
			title := part[3:]
			anchor := strings.ReplaceAll(strings.ToLower(title), " ", "-")
			out.WriteString(`<h2 id="` + anchor + `">` + title + ` <a class="anchor" href="#` + anchor + `" aria-label="Link to ` + title + `">#</a></h2>`)
		case strings.HasPrefix(part, "- "):
			items := strings.Split(part[2:], "\n- ")
			out.WriteString("<ul><li>" + strings.Join(items, "</li><li>") + "</li></ul>")
		case strings.HasPrefix(part, "| "):
			renderTable(&out, strings.Split(part, "\n"))
		default:
			out.WriteString("<p>" + part + "</p>")
		}
	}
	return template.HTML(out.String()) //nolint:gosec // each part is escaped by renderInline
}

// renderTable renders the rows of a Markdown table. It skips the second row, which only separates the header.
func renderTable(out *strings.Builder, rows []string) {
	out.WriteString(`<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>`)
	for i, row := range rows {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		switch i {
		case 0:
			out.WriteString(`<thead><tr><th scope="col">` + strings.Join(cells, `</th><th scope="col">`) + "</th></tr></thead><tbody>")
		case 1:
		default:
			out.WriteString("<tr><td>" + strings.Join(cells, "</td><td>") + "</td></tr>")
		}
	}
	out.WriteString("</tbody></table></div>")
}
