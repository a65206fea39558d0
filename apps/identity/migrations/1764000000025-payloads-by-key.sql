-- Outside a transaction.
-- For what is to be encrypted with another secret, which is looked for each minute. Begun again after a failure, it first takes away
-- what was left half made.
DROP INDEX CONCURRENTLY IF EXISTS oauth_payloads_by_key;
CREATE INDEX CONCURRENTLY oauth_payloads_by_key ON oauth_payloads (key_id);
