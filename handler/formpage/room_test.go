package formpage_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/formsvc/formsvc"
	"github.com/formsvc/formsvc/storage"
)

// A form that was stored before there was a limit is drawn up to 4 MiB, and says what is
// missing.
func TestAFormThatIsTooLargeIsDrawnAsFarAsThereIsRoom(t *testing.T) {
	c := newCosts(t)
	lines := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"id":"%d","label":"Line %d"}`, i, i)
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	grid := `{"id":"%s","type":"matrix","label":"The <grid> %s","required":true,"matrix_rows":` + lines(500) + `,"matrix_columns":` + lines(500) + `}`
	blocks := `[{"id":"first","type":"short_text","label":"First"},` + fmt.Sprintf(grid, "a", "a") + "," + fmt.Sprintf(grid, "b", "b") + `,{"id":"last","type":"short_text","label":"Last"}]`
	form := c.stored(blocks)
	var page *httptest.ResponseRecorder
	get := func() {
		page = httptest.NewRecorder()
		c.pages.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/f/"+form.PublicID, nil))
	}
	get()
	body := page.Body.String()
	if page.Code != http.StatusOK || len(body) > 4<<20 || len(body) < 3<<20 || !strings.Contains(body, "Line 499") {
		t.Errorf("%d, %d bytes", page.Code, len(body))
	}
	note := "from “The &lt;grid&gt; a” on, 3 questions or texts are missing or not shown in full."
	if !strings.Contains(body, note) || !strings.Contains(body, "First") || strings.Contains(body, "Last") || !strings.HasSuffix(body, "</body>\n</html>\n") {
		t.Errorf("the page lacks %q, or ends with %q", note, body[len(body)-300:])
	}
	if bytes := allocated(func() { c.serve(form, sent{method: http.MethodGet}) }); bytes > mostAllocated && !raceDetector {
		t.Errorf("the page allocates %d bytes", bytes)
	}
	// Five hundred wrong rows are worded without a draw.
	rows := map[string]any{}
	for i := range 500 {
		rows[fmt.Sprint(i)] = "none"
	}
	answers, _ := json.Marshal(map[string]any{"state": c.state(form), "answers": map[string]any{"a": rows}})
	var w *sink
	path := sent{http.MethodPost, "/path", "application/json", string(answers)}
	c.serve(form, path)
	if bytes := allocated(func() { w = c.serve(form, path) }); bytes > 4_000_000 || w.status != http.StatusOK || w.size < 5_000 {
		t.Errorf("status %d, %d bytes, %d allocated", w.status, w.size, bytes)
	}
}

// stored puts a form into the storage as it is.
func (c *costs) stored(blocks string) formsvc.PublicForm {
	c.tb.Helper()
	form, err := c.svc.AsHost().CreateForm(c.tb.Context(), newForm(c.place))
	if err == nil {
		form, err = c.svc.AsHost().PublishForm(c.tb.Context(), form.ID)
	}
	if err == nil {
		_, err = c.store.UpdateForm(context.Background(), storage.AsHost(), form.ID, storage.FormChange{
			Definition: storage.Definition{Blocks: json.RawMessage(blocks), Format: 1}, At: c.now,
		})
	}
	if err != nil {
		c.tb.Fatal(err)
	}
	public, err := c.svc.PublicForm(c.tb.Context(), form.PublicID)
	if err != nil {
		c.tb.Fatal(err)
	}
	return public
}
