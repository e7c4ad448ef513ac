package postgres

// countReferences is a part of a WITH list. It adds what the rows of changes say to
// the references that their events count, and removes the events that have none
// left.
//
// An event is removed only if it still has no more references when its row is
// locked: one that was queued again meanwhile is counted down like the others. All
// statements lock events in the order of their ids, and after the deliveries.
const countReferences = changedReferences + `, locked AS MATERIALIZED (
	SELECT e.id
	FROM changed c JOIN formsvc.events e ON e.id = c.event_id
	ORDER BY e.id
	FOR UPDATE OF e
), ` + countLocked

// countInOrder is countReferences for a statement that lookUp has look up row by
// row what is to be locked: it has the order without locking the rows before.
const countInOrder = changedReferences + `, locked AS (
	SELECT
), ` + countLocked

const changedReferences = `changed AS MATERIALIZED (
	SELECT c.event_id, sum(c.refs)::integer AS refs
	FROM changes c
	GROUP BY c.event_id
	ORDER BY c.event_id
)`

const countLocked = `unused AS (
	DELETE FROM formsvc.events e
	USING changed c
	WHERE e.id = c.event_id AND e.refs + c.refs <= 0 AND (SELECT count(*) FROM locked) >= 0
	RETURNING e.id
), counted AS (
	UPDATE formsvc.events e SET refs = e.refs + c.refs
	FROM (SELECT c.event_id, c.refs FROM changed c WHERE c.refs <> 0 AND c.event_id NOT IN (SELECT u.id FROM unused u)) c
	WHERE e.id = c.event_id
)`
