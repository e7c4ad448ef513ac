package definition

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/formsvc/formsvc/internal/lab/expect"
	"github.com/formsvc/formsvc/schema"
)

// All violations of checks are reported at their places, whether a body has a form, blocks, a block or a patch.
func TestChecks(t *testing.T) {
	w := newTestWrites(t)
	many := func(n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(`{"if":false,"say":"x"},`, n), ",") + "]"
	}
	say := func(text string) string {
		return fmt.Sprintf(`[{"if":true,"say":%s}]`, expect.Must(json.Marshal(text)))
	}
	for check, want := range map[string]string{
		`null`: "", `[]`: "", many(20): "", say("é" + strings.Repeat("x", 999)): "", say("**x**"): "",
		`[{"if":{"match":[{"var":"answers.q"},"[a-z]+"]},"say":"x","note":1}]`: "",
		`{}`:                                     " WRONG_TYPE",
		`"x"`:                                    " WRONG_TYPE",
		`5`:                                      " WRONG_TYPE",
		many(21):                                 " TOO_MANY",
		`[5,null,[],"x"]`:                        "/0 WRONG_TYPE, /1 WRONG_TYPE, /2 WRONG_TYPE, /3 WRONG_TYPE",
		`[{}]`:                                   "/0/if REQUIRED, /0/say REQUIRED",
		`[{"host":"a"},{"host":"b","note":1}]`:   "",
		`[{"host":""},{"host":5},{"host":null}]`: "/0/host TOO_SHORT, /1/host WRONG_TYPE, /2/host WRONG_TYPE",
		`[{"host":"` + strings.Repeat("x", 101) + `"},{"host":"a","if":{"nope":1},"say":""}]`: "/0/host TOO_LONG, /1/if BAD_FORMAT, /1/say TOO_SHORT",
		`[{"if":null,"say":null}]`:     "/0/if REQUIRED, /0/say WRONG_TYPE",
		`[{"if":true,"say":5}]`:        "/0/say WRONG_TYPE",
		say(""):                        "/0/say TOO_SHORT",
		say(" \u200b"):                 "/0/say TOO_SHORT",
		say(strings.Repeat("é", 1001)): "/0/say TOO_LONG",
		`[{"if":{"nope":1},"say":"x"},{"if":{"and":[{"nope":1},{"match":["a","("]},{"match":["a",{"var":"p"}]},{"match":["a","a{1000}"]}]},"say":"x"}]`: "/0/if BAD_FORMAT, /1/if/and/0 BAD_FORMAT, /1/if/and/1/match/1 BAD_FORMAT, /1/if/and/2 BAD_FORMAT, /1/if/and/3/match/1 BAD_FORMAT",
		many(20)[:len(many(20))-1] + `,{"if":{"nope":[]},"say":""}]`:                                                                                    " TOO_MANY, /20/if BAD_FORMAT, /20/say TOO_SHORT",
	} {
		under := func(at string) (list []string) {
			for one := range strings.SplitSeq(want, ", ") {
				if one != "" {
					list = append(list, at+"/properties/rule/check"+one)
				}
			}
			return list
		}
		rule := `"properties":{"rule":{"check":` + check + `}}`
		block := `{"id":"q",` + rule + `}`
		_, err := w.ParseFormCreate([]byte(`{"name":"F","workspace_id":"507f1f77bcf86cd799439011","definition":{"blocks":[` + block + `]}}`))
		wantFaults(t, err, under("/definition/blocks/0")...)
		_, err = w.ParseFormUpdate([]byte(`{"definition":{"blocks":[{"id":"g","children":[` + block + `]}]}}`))
		wantFaults(t, err, under("/definition/blocks/0/children/0")...)
		wantFaults(t, expect.ErrorOf(w.ParseBlocks([]byte(`{"blocks":[`+block+`]}`))), under("/blocks/0")...)
		added, err := w.ParseBlock([]byte(`{"block":` + block + `}`))
		wantFaults(t, err, under("/block")...)
		if want == "" {
			_, err = w.AppendBlock(stored(t, `[{"id":"a"}]`), added)
			wantFaults(t, err)
		}
		p := expect.Must(w.ParseBlockPatch([]byte(`{"block":{` + rule + `}}`)))
		_, _, _, err = w.ApplyPatch(stored(t, `[{"id":"q","properties":{"rule":{"show":true,"check":[]}}}]`), "q", p)
		wantFaults(t, err, under("/block")...)
	}
}

// The content of an editor may be invalid, but not too large.
func TestChecksOfUnsavedContent(t *testing.T) {
	w := newTestWrites(t)
	err := w.CheckSizes([]byte(`{"definition":{"blocks":[{"id":"q","properties":{"rule":{"check":[{"if":{"nope":1},"say":""},5,{}]}}}]}}`))
	wantFaults(t, err)
	long := strings.Repeat("x", 1001)
	err = w.CheckSizes([]byte(`{"definition":{"blocks":[{"id":"q","properties":{"rule":{"check":[{"if":true,"say":"` + long + `"}]}}}]}}`))
	wantFaults(t, err, "/definition/blocks/0/properties/rule/check/0/say TOO_LONG")
}

// The patterns of all checks of a form have a limit together, whichever way they are written.
func TestPatternsOfAFormHaveALimitTogether(t *testing.T) {
	w := expect.Must(NewValidator(schema.Limits{Blocks: 1000}, nil))
	block := func(i int) string {
		return fmt.Sprintf(`{"id":"q%d","properties":{"rule":{"check":[{"if":{"match":["a","a{900}%d"]},"say":"x"}]}}}`, i, i)
	}
	var list []string
	last := -1
	for i := range 400 {
		if list = append(list, block(i)); i < 120 {
			continue
		}
		if _, err := w.ParseBlocks([]byte(`{"blocks":[` + strings.Join(list, ",") + `]}`)); err != nil {
			wantFaults(t, err, fmt.Sprintf("/blocks/%d/properties/rule/check/0/if/match/1 BAD_FORMAT", i))
			last = i
			break
		}
	}
	expect.Require(t, 120 < last && last < 300, "the block %d is too much", last)
	rest := stored(t, "["+strings.Join(list[:last], ",")+`,{"id":"q","properties":{"rule":{"check":[{},5]}}}]`)
	added := expect.Must(w.ParseBlock([]byte(`{"block":` + block(last) + `}`)))
	_, err := w.AppendBlock(rest, added)
	wantFaults(t, err, "/block/properties/rule/check/0/if/match/1 BAD_FORMAT")
	patch := expect.Must(w.ParseBlockPatch([]byte(`{"block":` + strings.Replace(block(last), `"id":`, `"label":`, 1) + `}`)))
	_, _, _, err = w.ApplyPatch(rest, "q", patch)
	wantFaults(t, err, "/block/properties/rule/check/0/if/match/1 BAD_FORMAT")
	_, _, _, err = w.ApplyPatch(rest, "q0", patch) // in place of a pattern of the same size
	wantFaults(t, err)
	same := expect.Must(w.ParseBlock([]byte(`{"block":` + strings.Replace(block(3), "q3", "other", 1) + `}`)))
	_, err = w.AppendBlock(rest, same)
	wantFaults(t, err)
}

// A reference to a list of choices is checked at every level.
func TestListReferences(t *testing.T) {
	w := newTestWrites(t)
	for choices, want := range map[string]string{
		`null`: "", `{"list":"a"}`: "", `{"list":"a","by":"answers.q","note":1}`: "", `{"list":"a","by":""}`: "",
		`{}`:                    "/list REQUIRED",
		`[]`:                    " WRONG_TYPE",
		`"a"`:                   " WRONG_TYPE",
		`{"list":"","by":null}`: "/by WRONG_TYPE, /list TOO_SHORT",
		`{"list":5,"by":["a"]}`: "/by WRONG_TYPE, /list WRONG_TYPE",
		`{"list":"` + strings.Repeat("é", 101) + `"}`: "/list TOO_LONG",
	} {
		var faults []string
		for one := range strings.SplitSeq(want, ", ") {
			if one != "" {
				faults = append(faults, "/blocks/0/children/0/properties/rule/choices"+one)
			}
		}
		_, err := w.ParseBlocks([]byte(`{"blocks":[{"id":"g","type":"group","children":[{"id":"q","type":"dropdown","properties":{"rule":{"choices":` + choices + `}}}]}]}`))
		wantFaults(t, err, faults...)
	}
}
