package postgres

// countReferences is a part of a WITH list. It adds what the rows of changes say to
// the references that their events count, and removes the events that have none
// left. All statements lock events in the order of their ids, and after deliveries.
const countReferences = changedReferences + `, locked AS MATERIALIZED (
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

// countUnlocked is countReferences without the locks, for a statement that lookUp
// has look up its rows one by one, in their order. Events of which some references
// are left are locked after those that are removed, which nobody else refers to: only
// whoever queues one of these again in a transaction with others may wait for it in a
// circle.
//
// An event is removed only if it still has no more references when its row is
// locked: one that was queued again meanwhile is counted down like the others.
const countUnlocked = changedReferences + `, unused AS (
	DELETE FROM formsvc.events e
	USING changed c
	WHERE e.id = c.event_id AND e.refs + c.refs <= 0
	RETURNING e.id
), counted AS (
	UPDATE formsvc.events e SET refs = e.refs + c.refs
	FROM (SELECT c.event_id, c.refs FROM changed c WHERE c.refs <> 0 AND c.event_id NOT IN (SELECT u.id FROM unused u)) c
	WHERE e.id = c.event_id
)`

const changedReferences = `changed AS MATERIALIZED (
	SELECT c.event_id, sum(c.refs)::integer AS refs
	FROM changes c
	GROUP BY c.event_id
	ORDER BY c.event_id
)`
