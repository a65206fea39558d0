-- Outside a transaction.
-- For lists of the users of a role, and for the count of admins before one is demoted or deleted.
-- Rerunnable: drops an invalid index left by a failed run first.
DROP INDEX CONCURRENTLY IF EXISTS users_by_role;
CREATE INDEX CONCURRENTLY users_by_role ON users (role, username_key);
