-- Outside a transaction.
CREATE INDEX CONCURRENTLY users_by_last_name ON users (lower(last_name) text_pattern_ops);
