-- Outside a transaction.
-- Staff list the orders of everybody: of a status, of a plant, of a time. That of plants also finds those that are open, in place of
-- the index for them alone. Begun again after a failure, it first takes away what was left half made.
DROP INDEX CONCURRENTLY IF EXISTS orders_by_status;
CREATE INDEX CONCURRENTLY orders_by_status ON orders (status, position DESC);
DROP INDEX CONCURRENTLY IF EXISTS orders_by_plant_and_status;
CREATE INDEX CONCURRENTLY orders_by_plant_and_status ON orders (plant_id, status, position DESC);
DROP INDEX CONCURRENTLY IF EXISTS orders_by_time;
CREATE INDEX CONCURRENTLY orders_by_time ON orders (placed_at);
DROP INDEX CONCURRENTLY IF EXISTS orders_open_of_plant;
