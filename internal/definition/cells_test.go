package definition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
	"github.com/formsvc/formsvc/storage"
)

// items makes a list of n choices.
func items(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`{"id":"%d"}`, i))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// Every option that a page draws is a cell.
func TestCells(t *testing.T) {
	w := expect.Must(NewValidator(schema.Limits{Cells: 299, AllCells: 600}, nil))
	choice := func(kind string, n int) string {
		return fmt.Sprintf(`{"id":"%s%d","type":%q,"choices":%s}`, kind, n, kind, items(n))
	}
	grid := func(rows, columns int) string {
		return fmt.Sprintf(`{"id":"m","type":"matrix","matrix_rows":%s,"matrix_columns":%s}`, items(rows), items(columns))
	}
	country := `{"id":"d","type":"dropdown","choices":` + items(299) + `},{"id":"e","type":"dropdown","choices":` + items(141) + `},{"id":"c","type":"country"},{"id":"a","type":"address"},{"id":"p","type":"phone"}`
	days := func(n int) string {
		return `{"id":"t","type":"date","properties":{"specificDates":[` + strings.TrimSuffix(strings.Repeat(`"2026-05-01T00:00:00Z",`, n), ",") + `]}}`
	}
	for name, test := range map[string]struct {
		blocks string
		want   []string
	}{
		"a matrix within":               {grid(13, 23), nil},
		"a matrix":                      {grid(15, 20), []string{"/blocks/0 TOO_MANY"}},
		"a matrix without a type":       {strings.Replace(grid(15, 20), `"type":"matrix",`, "", 1), []string{"/blocks/0 TOO_MANY"}},
		"a matrix that is not one":      {strings.Replace(grid(15, 20), `matrix"`, `text"`, 1), nil},
		"a ranking within":              {choice("ranking", 17), nil},
		"a ranking":                     {choice("ranking", 18), []string{"/blocks/0 TOO_MANY"}},
		"a ranking of 40":               {choice("ranking", 40), []string{"/blocks TOO_MANY", "/blocks/0 TOO_MANY"}},
		"a ranking of 41":               {choice("ranking", 41), nil},
		"choices within":                {choice("multiple_choice", 299), nil},
		"choices":                       {choice("dropdown", 300), []string{"/blocks/0 TOO_MANY"}},
		"inside a group":                {`{"id":"g","type":"group","children":[{"id":"h"},` + choice("single_choice", 300) + `]}`, []string{"/blocks/0/children/1 TOO_MANY"}},
		"a form within":                 {choice("dropdown", 299) + "," + choice("picture_choice", 298) + `,{"id":"y","type":"yes_no"},{"id":"t"}`, nil},
		"a form":                        {choice("dropdown", 299) + "," + choice("picture_choice", 298) + `,{"id":"y","type":"yes_no"},{"id":"r","type":"rating"}`, []string{"/blocks TOO_MANY"}},
		"four lists of countries":       {country, nil},
		"five lists of countries":       {country + `,{"id":"i","type":"phone"}`, []string{"/blocks TOO_MANY"}},
		"a contact without lists":       {country + `,{"id":"i","type":"contact_info","properties":{"addressOrContact":{"country":{"hide":true},"phone":{"hide":true}}}},{"id":"n","type":"date"}`, nil},
		"a contact with one list":       {country + `,{"id":"i","type":"contact_info","properties":{"addressOrContact":{"country":{"hide":true}}}}`, []string{"/blocks TOO_MANY"}},
		"days within":                   {choice("dropdown", 299) + "," + choice("picture_choice", 251) + "," + days(50), nil},
		"days that are explained":       {choice("dropdown", 299) + "," + choice("picture_choice", 251) + "," + days(300), nil},
		"days":                          {choice("dropdown", 299) + "," + choice("picture_choice", 252) + "," + days(50), []string{"/blocks TOO_MANY"}},
		"scales within":                 {choice("dropdown", 290) + "," + choice("ranking", 14) + `,{"id":"n","type":"nps"},{"id":"o","type":"opinion_scale","properties":{"from":0,"to":20,"scaleStep":1}},` + choice("picture_choice", 80) + `,{"id":"l","type":"legal"},{"id":"big","type":"rating","properties":{"to":21}}`, nil},
		"scales":                        {choice("dropdown", 290) + "," + choice("ranking", 14) + `,{"id":"n","type":"nps"},{"id":"o","type":"opinion_scale","properties":{"from":0,"to":20,"scaleStep":1}},` + choice("picture_choice", 80) + `,{"id":"l","type":"legal"},{"id":"r","type":"rating","properties":{"to":1}}`, []string{"/blocks TOO_MANY"}},
		"a scale that is a number":      {choice("dropdown", 290) + "," + choice("ranking", 14) + `,{"id":"o","type":"opinion_scale","properties":{"from":0,"to":1e9,"scaleStep":-1}}`, nil},
		"a type that is none, at least": {`{"id":"a","type":"dropdowns","choices":` + items(300) + `}`, []string{"/blocks/0/type NOT_ALLOWED"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantFaults(t, expect.ErrorOf(w.ParseBlocks([]byte(`{"blocks":[`+test.blocks+`]}`))), test.want...)
		})
	}
}

// A block that names no type has the cells of the one that is stored, and a form that was
// stored before there was a limit may be changed as long as it has no more cells.
func TestCellsOfStoredBlocks(t *testing.T) {
	w := expect.Must(NewValidator(schema.Limits{Cells: 100, AllCells: 121}, nil))
	ranking := func(id string, n int) string {
		return fmt.Sprintf(`{"id":%q,"type":"ranking","choices":%s}`, id, items(n))
	}
	within := expect.Must(ParseStoredBlocks([]byte("[" + ranking("a", 10) + `,{"id":"b"}]`)))
	for blocks, want := range map[string][]string{
		`{"id":"a","choices":` + items(10) + `}`:                                           nil,
		`{"id":"a","choices":` + items(11) + `}`:                                           {"/blocks/0 TOO_MANY"},
		`{"id":"a","choices":` + items(10) + `},{"id":"c","choices":` + items(21) + `}`:    nil,
		`{"id":"a","choices":` + items(10) + `},{"id":"c","choices":` + items(22) + `}`:    {"/blocks TOO_MANY"},
		`{"id":"a","type":"dropdown","choices":` + items(50) + `},{"id":"b","label":"\n"}`: nil,
	} {
		parsed, err := w.ParseBlocks([]byte(`{"blocks":[` + blocks + `]}`))
		expect.NoError(t, err)
		wantFaults(t, expect.ErrorOf(w.InferTypes(parsed, within)), want...)
		f := expect.Must(w.ParseFormUpdate([]byte(`{"definition":{"blocks":[` + blocks + `]}}`)))
		_, err = w.ChangeDefinition(f, storage.Definition{Blocks: within.Raw()})
		for i := range want {
			want[i] = "/definition" + want[i]
		}
		wantFaults(t, err, want...)
	}

	beyond := expect.Must(ParseStoredBlocks([]byte("[" + ranking("a", 12) + "," + ranking("b", 3) + `]`)))
	for patch, want := range map[string][]string{
		`{"label":"x"}`: nil,
		`{"label":"x","choices":` + items(3) + `}`:       nil,
		`{"label":"x","choices":` + items(4) + `}`:       {"/block TOO_MANY"},
		`{"type":null,"choices":` + items(4) + `}`:       {"/block TOO_MANY"},
		`{"type":"dropdown","choices":` + items(9) + `}`: nil,
	} {
		p, err := w.ParseBlockPatch([]byte(`{"block":` + patch + `}`))
		expect.NoError(t, err)
		_, _, _, err = w.ApplyPatch(beyond, "b", p)
		wantFaults(t, err, want...)
	}
	for block, want := range map[string][]string{`{"id":"c","type":"nps"}`: {"/block TOO_MANY"}, `{"id":"c","type":"email"}`: nil} {
		added, err := w.ParseBlock([]byte(`{"block":` + block + `}`))
		expect.NoError(t, err)
		wantFaults(t, expect.ErrorOf(w.AppendBlock(beyond, added)), want...)
	}
}
