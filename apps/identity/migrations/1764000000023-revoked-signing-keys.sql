-- A signing key may end with all that it signed. Only kinds are added, so no row need be looked at.
ALTER TABLE revocations
  DROP CONSTRAINT revocations_kind_check,
  ADD CONSTRAINT revocations_kind_check CHECK (kind IN
    ('apiKey', 'session', 'user', 'accessToken', 'client', 'grant', 'clientSecret', 'signingKey', 'userChanged')) NOT VALID;
