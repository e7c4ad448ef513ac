package postgres

import (
	"time"

	"github.com/Masterminds/squirrel"

	"github.com/formsvc/formsvc/storage"
	"github.com/formsvc/formsvc/storage/postgres/internal/conn"
)

// Lists are in newest-first order. $1 and $2 are the time and ID of the record before the page, and $3 is the page's
// length. Other arguments follow. If one workspace has nearly all records, the planner might prefer the index of all
// records over the index by workspace. For a user with empty workspaces, the server would then read the whole index
// once per workspace. The host's lists therefore use partial indexes, whose condition (the ID is not empty) is always
// true but occurs in no other statement.

// The page's length is a subquery, because if the planner knew the value but had no statistics, it would expect few
// rows, and would read and sort all of them. The time is also a subquery, because near the end of a list, a plan for
// its value looks cheaper than the generic plan. The server would then plan each page again, which doubles the cost.
const pageLimit = "(SELECT $3::bigint)"

func pageArgs(p storage.Page) []any {
	if p.After == nil {
		return []any{conn.TimeArg(time.Time{}), maxID, int64(max(p.Limit, 0))}
	}
	id := p.After.ID
	return []any{conn.TimeArg(p.After.Time), id[:], int64(max(p.Limit, 0))}
}

var maxID = []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")

type listSource struct {
	from    string // table with the alias, and joins
	alias   string
	columns string // columns to select
	where   string // condition for the rows in the list
}

func (l listSource) selectWhere(condition string) squirrel.SelectBuilder {
	return l.selectPage(l.columns, condition, pageLimit)
}

func (l listSource) selectForHost() squirrel.SelectBuilder {
	return l.selectWhere(l.alias + ".id > ''")
}

// selectForUser merges the lists of all workspaces of the user $4. It first reads each workspace's newest row from the
// index. A page of n rows can only contain rows from the n workspaces with the newest of these rows. It then reads a
// page from each of these workspaces.
func (l listSource) selectForUser() squirrel.SelectBuilder {
	inWorkspace := l.alias + ".workspace_id = a.workspace_id"
	first := l.orderByNewest(squirrel.Select("a.workspace_id").
		From("formsvc.workspace_users a").
		JoinClause(joinLateral(l.selectPage(l.alias+".created_at, "+l.alias+".id", inWorkspace, "1"), l.alias)).
		Where("a.user_id = $4::bytea"), pageLimit)
	return l.orderByNewest(squirrel.Select(l.columns).
		FromSelect(first, "a").
		JoinClause(joinLateral(l.selectPage(l.alias+".*", inWorkspace, pageLimit), l.alias)), pageLimit)
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

func joinLateral(q squirrel.SelectBuilder, alias string) squirrel.Sqlizer {
	return q.Prefix("CROSS JOIN LATERAL (").Suffix(") " + alias)
}

func mustBuildSQL(list squirrel.SelectBuilder) string {
	text, args, err := list.ToSql()
	if err != nil || len(args) > 0 {
		panic("postgres: invalid list query") // the text depends only on constants
	}
	return text
}
