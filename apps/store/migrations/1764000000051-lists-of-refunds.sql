-- Outside a transaction.
DROP INDEX CONCURRENTLY IF EXISTS refunds_by_state;
CREATE UNIQUE INDEX CONCURRENTLY refunds_by_state ON payments (state, refund_id DESC) WHERE state IN ('refund-due', 'refunded');
DROP INDEX CONCURRENTLY IF EXISTS refunds_by_id;
CREATE UNIQUE INDEX CONCURRENTLY refunds_by_id ON payments (refund_id) WHERE state IN ('refund-due', 'refunded');
