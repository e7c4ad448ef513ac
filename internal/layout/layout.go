// Package layout checks the HTML document in which a host embeds the pages of a handler.
package layout

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io"
)

// head and body are placeholders for the parts of a page. Templates do not escape HTML comments in any context.
const (
	head template.HTML = "<!--formsvc:head-->"
	body template.HTML = "<!--formsvc:body-->"
)

// Check executes a layout once. It returns the layout's error, or an error that names each part that does not occur
// exactly once in the output. If the layout has data of requests, it can need the data, so Check ignores its error.
func Check(hasData bool, execute func(out io.Writer, head, body template.HTML) error) error {
	var out bytes.Buffer
	if err := execute(&out, head, body); err != nil {
		if hasData {
			return nil
		}
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
