-- A signing key can be revoked, together with all tokens that it signed. NOT VALID: the new constraint only adds kinds, so
-- existing rows satisfy it.
ALTER TABLE revocations
  DROP CONSTRAINT revocations_kind_check,
  ADD CONSTRAINT revocations_kind_check CHECK (kind IN
    ('apiKey', 'session', 'user', 'accessToken', 'client', 'grant', 'clientSecret', 'signingKey', 'userChanged')) NOT VALID;
