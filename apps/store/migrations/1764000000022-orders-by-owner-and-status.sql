-- Outside a transaction.
-- One index for all lists of an owner's orders and for the look for open ones, in place of two: whoever has many orders, and few
-- of the status asked for, waited until all were read. Begun again after a failure, it first takes away what was left half made.
DROP INDEX CONCURRENTLY IF EXISTS orders_by_owner_and_status;
CREATE INDEX CONCURRENTLY orders_by_owner_and_status ON orders (owner_id, status, position DESC);
DROP INDEX CONCURRENTLY IF EXISTS orders_of_owner;
DROP INDEX CONCURRENTLY IF EXISTS orders_open_of_owner;
