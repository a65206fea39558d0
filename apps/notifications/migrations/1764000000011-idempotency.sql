-- Saved answers of requests with an Idempotency-Key: a hash of the key, a fingerprint of the request keyed by it, and the
-- answer encrypted under it (libs/platform/src/idempotency).
CREATE TABLE idempotency_keys (
  hash        bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
  fingerprint bytea       NOT NULL CHECK (octet_length(fingerprint) = 32),
  answer      bytea       NOT NULL,
  expires_at  timestamptz NOT NULL
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
