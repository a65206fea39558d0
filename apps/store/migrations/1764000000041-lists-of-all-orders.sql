-- Outside a transaction.
-- For staff, who list all orders by status, plant or time. The index by plant also finds open orders, and replaces the index
-- of open orders only.
-- Rerunnable: drops an invalid index left by a failed run first.
DROP INDEX CONCURRENTLY IF EXISTS orders_by_status;
CREATE INDEX CONCURRENTLY orders_by_status ON orders (status, position DESC);
DROP INDEX CONCURRENTLY IF EXISTS orders_by_plant_and_status;
CREATE INDEX CONCURRENTLY orders_by_plant_and_status ON orders (plant_id, status, position DESC);
DROP INDEX CONCURRENTLY IF EXISTS orders_by_time;
CREATE INDEX CONCURRENTLY orders_by_time ON orders (placed_at);
DROP INDEX CONCURRENTLY IF EXISTS orders_open_of_plant;
