package postgres

import (
	"time"

	"github.com/Masterminds/squirrel"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// A list is newest first and is read from a position on: $1 and $2 are the time and
// the id of the record before the page, and $3 is how long the page is. What else a
// list depends on follows. The text depends on the shape of the list alone, so that
// it is built once.
//
// No list is left to the planner's choice of an index. An index on the records of
// everybody in the order of time looks as good as that of one workspace wherever
// one workspace owns nearly all of them; for a user whose workspaces are empty it is
// then read to its end, once for each. So the lists of the host have indexes that
// serve them alone: the indexes have a condition that always holds, that the id is
// not empty, and no other statement says it.

// The length of the page is a subquery, so that a plan that is made for its value is
// made as for any: of a table that was never analysed the planner expects few rows,
// and would read and sort all of them rather than two thirds in order. So is the time:
// near the end of a list few rows come after it, a plan for that time looks cheaper than
// the one for all, and would be made anew for each page, which doubles its cost.
const pageLimit = "(SELECT $3::bigint)"

// pageArgs are the arguments $1 to $3.
func pageArgs(p storage.Page) []any {
	if p.After == nil {
		return []any{conn.TimeArg(time.Time{}), maxID, int64(max(p.Limit, 0))}
	}
	id := p.After.ID
	return []any{conn.TimeArg(p.After.Time), id[:], int64(max(p.Limit, 0))}
}

// maxID comes after every id.
var maxID = []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")

// listSource is what lists are read from, with an alias of one letter for the records.
type listSource struct {
	from    string // a table with the alias, and what else has to be there
	alias   string
	columns string // of the result
	where   string // which rows are in the list
}

// of lists the rows for which a condition holds.
func (l listSource) selectWhere(condition string) squirrel.SelectBuilder {
	return l.selectPage(l.columns, condition, pageLimit)
}

// ofHost lists the rows of everybody.
func (l listSource) selectForHost() squirrel.SelectBuilder {
	return l.selectWhere(l.alias + ".id > ''")
}

// ofUser merges the lists of the workspaces that the user $4 has access to. The
// newest rows of all are in the workspaces whose newest rows are the newest: first
// one row of each workspace is read, from the index alone, and then no more
// workspaces than the page is long are read to that length.
func (l listSource) selectForUser() squirrel.SelectBuilder {
	inWorkspace := l.alias + ".workspace_id = a.workspace_id"
	first := l.orderByNewest(squirrel.Select("a.workspace_id").
		From("formsvc.workspace_users a").
		JoinClause(lateral(l.selectPage(l.alias+".created_at, "+l.alias+".id", inWorkspace, "1"), l.alias)).
		Where("a.user_id = $4::bytea"), pageLimit)
	return l.orderByNewest(squirrel.Select(l.columns).
		FromSelect(first, "a").
		JoinClause(lateral(l.selectPage(l.alias+".*", inWorkspace, pageLimit), l.alias)), pageLimit)
}

func (l listSource) selectPage(columns, condition, limit string) squirrel.SelectBuilder {
	return l.orderByNewest(squirrel.Select(columns).
		From(l.from).
		Where(condition).
		Where(l.where).
		Where("("+l.alias+".created_at, "+l.alias+".id) < (COALESCE((SELECT $1::timestamptz), 'infinity'), $2::bytea)"), limit)
}

func (l listSource) orderByNewest(q squirrel.SelectBuilder, limit string) squirrel.SelectBuilder {
	return q.OrderBy(l.alias+".created_at DESC", l.alias+".id DESC").Suffix("LIMIT " + limit)
}

func lateral(q squirrel.SelectBuilder, alias string) squirrel.Sqlizer {
	return q.Prefix("CROSS JOIN LATERAL (").Suffix(") " + alias)
}

// listText returns the text of a list, which has no arguments of squirrel's.
func listText(list squirrel.SelectBuilder) string {
	text, args, err := list.ToSql()
	if err != nil || len(args) > 0 {
		panic("postgres: invalid list query") // it depends on nothing outside
	}
	return text
}
