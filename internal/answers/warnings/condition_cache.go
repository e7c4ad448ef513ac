package warnings

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/formsvc/formsvc/internal/answers/answertype"
	"github.com/formsvc/formsvc/internal/cache"
	"github.com/formsvc/formsvc/internal/jsontree"
	"github.com/formsvc/formsvc/internal/logic"
)

// conditionResult holds the warnings about a condition. neverHolds explains why the condition never holds; it is empty
// if the condition can hold.
type conditionResult struct {
	findings   []finding
	neverHolds string
}

type finding struct {
	path string // JSON path relative to the rule
	code string
	why  answertype.Explanation
}

// resultCache caches results by their dependencies, so that an edit repeats the check only for affected conditions.
var resultCache cache.Cache[string, conditionResult]

// place is where a condition runs.
type place struct {
	block    int  // the block with the rule
	after    bool // whether the condition runs after the block's answer is taken
	answered int  // the block that always has an answer, or -1
}

// checkCondition checks condition n, which was compiled to l. If after is true, l runs after its block's answer is
// read.
func (w *warner) checkCondition(n jsontree.Node, l *logic.Logic, at place) {
	if l == nil || l.IsConstant() {
		return
	}
	key := w.cacheKey(n, l, at)
	found, ok := resultCache.Get(key)
	if !ok {
		q := query{w, w.firstUnknownBlock(at.block, at.after), at.answered, make(map[jsontree.Node][2]bool), &found}
		q.warnConstant(n)
		if can, _ := q.outcomes(n); !can {
			found.neverHolds = q.explain(n).Message
		}
		if w.constantStepsUsed <= constantSteps { // otherwise the evaluation is incomplete
			resultCache.Put(key, found, len(key))
		}
	}
	for _, f := range found.findings {
		w.addPending(at.block, w.rulePath(at.block)+f.path, f.code, f.why)
	}
	if found.neverHolds != "" {
		w.neverHolds[l] = found.neverHolds
	}
}

// cacheKey returns a cache key that contains everything that a condition's result depends on.
func (w *warner) cacheKey(n jsontree.Node, l *logic.Logic, at place) string {
	var key strings.Builder
	fmt.Fprintln(&key, w.service, n.Pointer(""), n.Raw())
	paths, _ := l.ReadPaths()
	for _, path := range paths {
		kind, rest, _ := strings.Cut(path, ".")
		block, _, isBlock := lookupName(w.form.Index, rest)
		variable, _, isVariable := lookupName(w.form.VariableIndex, rest)
		_, _, isHidden := lookupName(w.form.HiddenNames, rest)
		switch {
		case kind == "answers" && isBlock:
			fmt.Fprintln(&key, block < w.firstUnknownBlock(at.block, at.after), block == at.answered, w.isRequired(block), w.form.Blocks[block].Hide, w.blockJSON(block))
		case kind == "variables" && isVariable:
			fmt.Fprintln(&key, w.firstSet[variable] > 0, answertype.EncodeJSON(w.form.Variables[variable].Initial))
		default:
			fmt.Fprintln(&key, isHidden)
		}
	}
	return key.String()
}

func (w *warner) blockJSON(block int) string {
	if w.blockTexts[block] == "" {
		text, _ := json.Marshal(w.blocks[block]) //nolint:errchkjson // it was decoded from JSON, which has no NaN
		w.blockTexts[block] = string(text)
	}
	return w.blockTexts[block]
}
