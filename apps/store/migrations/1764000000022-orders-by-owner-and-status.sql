-- Outside a transaction.
-- One index instead of two, for all lists of an owner's orders and for the search for open ones. With the former ones, an owner
-- with many orders but few in the requested status caused a scan of all of them.
-- Rerunnable: drops an invalid index left by a failed run first.
DROP INDEX CONCURRENTLY IF EXISTS orders_by_owner_and_status;
CREATE INDEX CONCURRENTLY orders_by_owner_and_status ON orders (owner_id, status, position DESC);
DROP INDEX CONCURRENTLY IF EXISTS orders_of_owner;
DROP INDEX CONCURRENTLY IF EXISTS orders_open_of_owner;
