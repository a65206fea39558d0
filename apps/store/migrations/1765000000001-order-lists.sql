-- Outside a transaction.
-- Newest last: a new order is appended to its part of an index. At the beginning of the part it would split a page twice as often; the three
-- cost a tenth of Postgres' part of an order more. Lists read them backwards.
DROP INDEX CONCURRENTLY IF EXISTS orders_of_owner;
CREATE INDEX CONCURRENTLY orders_of_owner ON orders (owner_id, status, placed_at, id);
DROP INDEX CONCURRENTLY IF EXISTS orders_of_plant;
CREATE INDEX CONCURRENTLY orders_of_plant ON orders (plant_id, status, placed_at, id);
DROP INDEX CONCURRENTLY IF EXISTS orders_in_status;
CREATE INDEX CONCURRENTLY orders_in_status ON orders (status, placed_at, id);
DROP INDEX CONCURRENTLY IF EXISTS orders_by_owner;
DROP INDEX CONCURRENTLY IF EXISTS orders_by_plant;
DROP INDEX CONCURRENTLY IF EXISTS orders_by_status;
