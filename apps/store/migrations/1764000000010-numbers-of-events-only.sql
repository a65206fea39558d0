-- Outside a transaction.
-- Most rows of the timeline are placings, which never get a number: an index of all cost each order an entry. Begun again
-- after a failure, it first takes away what was left half made.
DROP INDEX CONCURRENTLY IF EXISTS order_transitions_numbered;
CREATE UNIQUE INDEX CONCURRENTLY order_transitions_numbered ON order_transitions (feed_seq) WHERE feed_seq IS NOT NULL;
