-- Attempts to delete a user are numbered: the store closes no customer for one that is older than one it has refused.
CREATE SEQUENCE deletion_attempts MAXVALUE 9007199254740991;
ALTER TABLE user_deletions
  DROP COLUMN attempt_id,
  -- Whose turn it is: a newer attempt takes over from an older one, which then decides nothing any more.
  ADD COLUMN attempt safe_id NOT NULL DEFAULT nextval('deletion_attempts');
ALTER TABLE user_deletions ALTER COLUMN attempt DROP DEFAULT;

-- What the credentials of a user lead to has changed, and none of them has ended.
ALTER TABLE revocations
  DROP CONSTRAINT revocations_kind_check,
  ADD CONSTRAINT revocations_kind_check
    CHECK (kind IN ('apiKey', 'session', 'user', 'accessToken', 'client', 'userChanged'));
