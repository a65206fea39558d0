-- One sequence for the versions of all users, so none comes back: neither for a name that is registered again, nor for one that a
-- renamed user has left.
CREATE SEQUENCE user_versions MAXVALUE 9007199254740991;
SELECT setval('user_versions', max(version)) FROM users HAVING max(version) IS NOT NULL;
ALTER TABLE users ALTER COLUMN version SET DEFAULT nextval('user_versions');
