-- Outside a transaction.
-- Most rows of the timeline are placings, which never get a number: an index of all rows cost each order an entry.
-- Rerunnable: drops an invalid index left by a failed run first.
DROP INDEX CONCURRENTLY IF EXISTS order_transitions_numbered;
CREATE UNIQUE INDEX CONCURRENTLY order_transitions_numbered ON order_transitions (feed_seq) WHERE feed_seq IS NOT NULL;
