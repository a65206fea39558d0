-- Outside a transaction.
-- For the search for payloads to re-encrypt with another secret, which runs each minute.
-- Rerunnable: drops an invalid index left by a failed run first.
DROP INDEX CONCURRENTLY IF EXISTS oauth_payloads_by_key;
CREATE INDEX CONCURRENTLY oauth_payloads_by_key ON oauth_payloads (key_id);
