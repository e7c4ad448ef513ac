// Package layout checks the HTML document in which a host embeds the pages of a handler.
package layout

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
)

// What stands for the two parts of a page. HTML comments are not escaped anywhere in a document.
const (
	head template.HTML = "<!--formsvc:head-->"
	body template.HTML = "<!--formsvc:body-->"
)

// Check executes a layout once. It returns what the template returns, and an error for each part of
// the page that is not in the result exactly once.
func Check(execute func(out io.Writer, head, body template.HTML) error) error {
	var out bytes.Buffer
	if err := execute(&out, head, body); err != nil {
		return fmt.Errorf("Config.Layout: %w", err)
	}
	once := func(part template.HTML, name string) error {
		if n := bytes.Count(out.Bytes(), []byte(part)); n != 1 {
			return fmt.Errorf("Config.Layout contains {{.%s}} %d times, want once", name, n)
		}
		return nil
	}
	return errors.Join(once(head, "Head"), once(body, "Body"))
}
