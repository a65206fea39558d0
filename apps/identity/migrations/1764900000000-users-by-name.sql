-- Outside a transaction. The operators of the search compare bytes, whatever the database's locale.
CREATE INDEX CONCURRENTLY users_by_name ON users (lower(ltrim(coalesce(first_name, '') || ' ' || coalesce(last_name, ''))) text_pattern_ops);
