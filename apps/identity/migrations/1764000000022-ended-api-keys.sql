-- Outside a transaction.
-- For the sweep of keys that ended long ago, which read the whole table.
-- Rerunnable: drops an invalid index left by a failed run first.
DROP INDEX CONCURRENTLY IF EXISTS api_keys_by_end;
CREATE INDEX CONCURRENTLY api_keys_by_end ON api_keys (least(revoked_at, expires_at));
