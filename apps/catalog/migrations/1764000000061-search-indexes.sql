-- Outside a transaction.
DROP INDEX CONCURRENTLY IF EXISTS plants_by_name;
CREATE INDEX CONCURRENTLY plants_by_name ON plants (lower(name) COLLATE "C", incarnation);
DROP INDEX CONCURRENTLY IF EXISTS plants_by_category;
CREATE INDEX CONCURRENTLY plants_by_category ON plants ((category ->> 'name'), incarnation);
CALL index_all_plants();
