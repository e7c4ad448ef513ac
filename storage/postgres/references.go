package postgres

// countReferences is a part of a WITH list. It adds what the rows of changes say to
// the references that their events count, and removes the events that have none
// left. All statements lock events in the order of their ids, and after deliveries.
const countReferences = `changed AS MATERIALIZED (
	SELECT c.event_id, sum(c.refs)::integer AS refs
	FROM changes c
	GROUP BY c.event_id
	HAVING sum(c.refs) <> 0
), locked AS MATERIALIZED (
	SELECT e.id, e.refs + c.refs AS refs
	FROM changed c JOIN formsvc.events e ON e.id = c.event_id
	ORDER BY e.id
	FOR UPDATE OF e
), unused AS (
	DELETE FROM formsvc.events e
	USING locked l
	WHERE e.id = l.id AND l.refs <= 0
), counted AS (
	UPDATE formsvc.events e SET refs = l.refs
	FROM locked l
	WHERE e.id = l.id AND l.refs > 0
)`
