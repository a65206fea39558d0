-- OAuth 2.0 for applications that people log in to: clients with redirect addresses, what users grant to them, and logins
-- in a browser, which are sessions like others.

-- Clients so far got tokens for themselves only.
ALTER TABLE oauth_clients
  ADD COLUMN name          text   NOT NULL DEFAULT 'client' CHECK (length(name) BETWEEN 1 AND 200),
  ADD COLUMN redirect_uris text[] NOT NULL DEFAULT '{}',
  ADD COLUMN grant_types   text[] NOT NULL DEFAULT '{client_credentials}'
    CHECK (cardinality(grant_types) > 0
      AND grant_types <@ '{authorization_code,refresh_token,client_credentials}'),
  -- Names the secret in tokens that were issued for it: another secret ends them.
  ADD COLUMN secret_id     uuid   DEFAULT gen_random_uuid() UNIQUE,
  -- A public client, which runs where nothing is secret, has none.
  ALTER COLUMN secret_hash DROP NOT NULL,
  -- Whose tokens act for the users who log in has no owner.
  ALTER COLUMN user_id     DROP NOT NULL,
  ADD CONSTRAINT oauth_clients_secret CHECK ((secret_hash IS NULL) = (secret_id IS NULL)),
  ADD CONSTRAINT oauth_clients_owner
    CHECK ((user_id IS NOT NULL AND secret_hash IS NOT NULL) OR NOT 'client_credentials' = ANY (grant_types)),
  ADD CONSTRAINT oauth_clients_redirects
    CHECK (cardinality(redirect_uris) > 0 OR NOT 'authorization_code' = ANY (grant_types));
UPDATE oauth_clients SET name = left(client_id, 200);
ALTER TABLE oauth_clients ALTER COLUMN name DROP DEFAULT, ALTER COLUMN grant_types DROP DEFAULT, ALTER COLUMN secret_id DROP DEFAULT;

-- Client credentials leave nothing here: there is no state yet that could be lost, nor a release that would write some.
DELETE FROM oauth_payloads;
ALTER TABLE oauth_payloads
  DROP COLUMN grant_hash,
  -- No secret: access tokens carry it.
  ADD COLUMN grant_id  text,
  -- With the user or the client goes everything that was granted.
  ADD COLUMN user_id   uuid CONSTRAINT oauth_payloads_user   REFERENCES users ON DELETE CASCADE,
  ADD COLUMN client_id text CONSTRAINT oauth_payloads_client REFERENCES oauth_clients ON DELETE CASCADE;
CREATE INDEX oauth_payloads_of_grant ON oauth_payloads (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX oauth_payloads_of_user ON oauth_payloads (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX oauth_payloads_of_client ON oauth_payloads (client_id) WHERE client_id IS NOT NULL;

ALTER TABLE sessions
  ADD COLUMN last_used_at  timestamptz,
  -- What it was begun with, as the client said.
  ADD COLUMN user_agent    text CHECK (length(user_agent) <= 200),
  -- Of a login in a browser: the session of the OAuth pages that counts while this one lives.
  ADD COLUMN oauth_session sha256 UNIQUE;

ALTER TABLE revocations
  DROP CONSTRAINT revocations_kind_check,
  ADD CONSTRAINT revocations_kind_check CHECK (kind IN
    ('apiKey', 'session', 'user', 'accessToken', 'client', 'grant', 'clientSecret', 'userChanged'));
CREATE INDEX revocations_by_id ON revocations (id, kind);
