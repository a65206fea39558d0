-- Outside a transaction.
-- For the sweep of keys that ended long ago, which read all there are. Begun again after a failure, it first takes away what was
-- left half made.
DROP INDEX CONCURRENTLY IF EXISTS api_keys_by_end;
CREATE INDEX CONCURRENTLY api_keys_by_end ON api_keys (least(revoked_at, expires_at));
