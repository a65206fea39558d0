-- Outside a transaction.
-- Admins list the users of a role, and are counted before one of them is taken away. Begun again after a failure, it first takes
-- away what was left half made.
DROP INDEX CONCURRENTLY IF EXISTS users_by_role;
CREATE INDEX CONCURRENTLY users_by_role ON users (role, username_key);
