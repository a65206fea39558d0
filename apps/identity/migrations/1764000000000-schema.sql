-- Identity's schema. Secrets are stored as hashes only, or encrypted.

CREATE DOMAIN safe_id AS bigint CHECK (VALUE BETWEEN 1 AND 9007199254740991);
CREATE DOMAIN sha256 AS bytea CHECK (octet_length(VALUE) = 32);

-- Users

-- Assigned ids leave the small ones to clients.
CREATE SEQUENCE assigned_user_ids START 1000000001 MAXVALUE 9007199254740991;

-- One sequence for the versions of all users, so none comes back: neither for a name that is registered again, nor for one that a
-- renamed user has left.
CREATE SEQUENCE user_versions MAXVALUE 9007199254740991;

CREATE TABLE users (
  -- Identifies the user to other services; never used again.
  user_id       uuid        PRIMARY KEY,
  id            safe_id     NOT NULL CONSTRAINT user_id_taken UNIQUE,
  username      text        NOT NULL CHECK (length(username) BETWEEN 1 AND 64),
  -- Uniqueness ignores case. Names are ASCII, and only ASCII is folded: with a locale, "K" of the Kelvin sign would be k.
  username_key  text        COLLATE "C" NOT NULL GENERATED ALWAYS AS (lower(username COLLATE "C")) STORED
                            CONSTRAINT username_taken UNIQUE,
  first_name    text,
  last_name     text,
  email         text,
  phone         text,
  user_status   integer,
  external_id   text,
  -- {key: text}; null: the user has none.
  metadata      jsonb,
  -- argon2id in the PHC format, which contains its parameters.
  password_hash text        NOT NULL,
  role          text        NOT NULL DEFAULT 'customer' CHECK (role IN ('customer', 'staff', 'admin')),
  version       bigint      NOT NULL DEFAULT nextval('user_versions'),
  created_at    timestamptz NOT NULL DEFAULT now(),
  updated_at    timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX external_id_taken ON users (external_id) WHERE external_id IS NOT NULL;
CREATE INDEX users_by_metadata ON users USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL;
-- For lists of the users of a role, and for the count of admins before one is demoted or deleted.
CREATE INDEX users_by_role ON users (role, username_key);
-- For searches of orders.
CREATE INDEX users_by_email ON users (lower(email)) WHERE email IS NOT NULL;

-- Numbers attempts to delete a user: the store closes no customer for an attempt that is older than one it has refused.
CREATE SEQUENCE deletion_attempts MAXVALUE 9007199254740991;

-- A deletion that the store is asked to allow. The row stays until the user is deleted or the store has named open orders, so that
-- after a crash another process continues.
CREATE TABLE user_deletions (
  user_id      uuid        PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  -- The attempt that decides; a newer one replaces it.
  attempt      safe_id     NOT NULL,
  -- For the audit entry, since the deletion may complete after the request: an actor (libs/platform/src/patterns/audit-log.ts) as JSON.
  asked_by     jsonb,
  requested_at timestamptz NOT NULL DEFAULT now(),
  -- How often a background loop has leased the deletion. The lease, which is also the pause before the next try, grows with it.
  tries        integer     NOT NULL DEFAULT 0,
  leased_until timestamptz NOT NULL
);

-- Failed logins and those in progress, counted per name and per network in windows that begin with the first of them. A subject is
-- a hash: people sometimes type their password into the name field.
CREATE TABLE login_failures (
  subject        sha256      PRIMARY KEY,
  failures       integer     NOT NULL,
  window_ends_at timestamptz NOT NULL
);
CREATE INDEX login_failures_by_age ON login_failures (window_ends_at);

-- Sessions and API keys

CREATE TABLE sessions (
  id            uuid        PRIMARY KEY,
  user_id       uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
  token_hash    sha256      NOT NULL UNIQUE,
  created_at    timestamptz NOT NULL DEFAULT now(),
  expires_at    timestamptz NOT NULL,
  last_used_at  timestamptz,
  -- The client's header at login.
  user_agent    text        CHECK (length(user_agent) <= 200),
  -- Of a login in a browser: the session of the OAuth pages, which is valid while this one lives.
  oauth_session sha256      UNIQUE
);
CREATE INDEX sessions_of_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE api_keys (
  id           uuid        PRIMARY KEY,
  user_id      uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
  name         text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- The first characters of the key, to recognise it by.
  prefix       text        NOT NULL,
  key_hash     sha256      NOT NULL UNIQUE,
  permissions  text[]      NOT NULL,
  created_at   timestamptz NOT NULL DEFAULT now(),
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  -- The key that replaces it. Both are valid until the older one expires; before there is a third one, the oldest must have ended.
  successor_id uuid        REFERENCES api_keys ON DELETE SET NULL,
  -- The lifetime that it was created with, which its successor gets, too; expires_at may end it earlier. Null: unlimited.
  lifetime     interval
);
CREATE INDEX api_keys_of_user ON api_keys (user_id, created_at DESC);
CREATE UNIQUE INDEX api_keys_by_successor ON api_keys (successor_id) WHERE successor_id IS NOT NULL;
-- For the sweep of keys that ended long ago.
CREATE INDEX api_keys_by_end ON api_keys (least(revoked_at, expires_at));

-- Revocations

-- The log by which followers keep or drop cached credentials. A transaction that revokes locks its head (UPDATE … RETURNING), so
-- positions have no gaps and become visible in their order.
CREATE TABLE revocation_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  position bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO revocation_head (position) VALUES (0);

CREATE TABLE revocations (
  position bigint      PRIMARY KEY,
  -- `userChanged`: none of the user's credentials ended, but what they permit changed.
  kind     text        NOT NULL CHECK (kind IN
    ('apiKey', 'session', 'user', 'accessToken', 'client', 'grant', 'clientSecret', 'signingKey', 'userChanged')),
  id       text        NOT NULL,
  -- Random. A log restored from a backup assigns the positions that it lost to other entries; followers detect that by this id.
  entry_id uuid        NOT NULL DEFAULT gen_random_uuid(),
  at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX revocations_by_age ON revocations (at);
CREATE INDEX revocations_by_id ON revocations (id, kind);

-- OAuth 2.0

CREATE TABLE oauth_clients (
  client_id     text        PRIMARY KEY CHECK (length(client_id) BETWEEN 1 AND 200),
  name          text        NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  -- The user that tokens of client credentials act for, whose deletion deletes the client. Null: its tokens act for users who log in.
  user_id       uuid        REFERENCES users ON DELETE CASCADE,
  -- argon2id, because a person may have chosen the secret. Null: a public client, which can keep no secret.
  secret_hash   text,
  -- Names the secret in tokens that were issued for it: another secret ends them.
  secret_id     uuid        UNIQUE,
  scopes        text[]      NOT NULL CHECK (cardinality(scopes) > 0),
  redirect_uris text[]      NOT NULL DEFAULT '{}',
  post_logout_redirect_uris text[] NOT NULL DEFAULT '{}',
  grant_types   text[]      NOT NULL CHECK (cardinality(grant_types) > 0
    AND grant_types <@ '{authorization_code,refresh_token,client_credentials}'),
  created_at    timestamptz NOT NULL DEFAULT now(),
  -- Lists are in this order, newest first.
  position      bigint      GENERATED ALWAYS AS IDENTITY UNIQUE,
  CONSTRAINT oauth_clients_secret CHECK ((secret_hash IS NULL) = (secret_id IS NULL)),
  CONSTRAINT oauth_clients_owner
    CHECK ((user_id IS NOT NULL AND secret_hash IS NOT NULL) OR NOT 'client_credentials' = ANY (grant_types)),
  CONSTRAINT oauth_clients_redirects
    CHECK (cardinality(redirect_uris) > 0 OR NOT 'authorization_code' = ANY (grant_types))
);
CREATE INDEX oauth_clients_of_user ON oauth_clients (user_id);

-- State of the provider, by the name of its model. Ids of most models are themselves secrets (a code, a refresh token), so only their
-- hashes are stored, and payloads, which contain them, are encrypted.
CREATE TABLE oauth_payloads (
  model          text        NOT NULL,
  id_hash        sha256      NOT NULL,
  payload        bytea       NOT NULL,
  -- The secret that encrypted it: IDENTITY_SECRET may hold several.
  key_id         text        NOT NULL,
  uid_hash       sha256,
  user_code_hash sha256,
  -- Not secret: access tokens contain it.
  grant_id       text,
  -- The deletion of the user or the client deletes everything that was granted.
  user_id        uuid        CONSTRAINT oauth_payloads_user   REFERENCES users ON DELETE CASCADE,
  client_id      text        CONSTRAINT oauth_payloads_client REFERENCES oauth_clients ON DELETE CASCADE,
  consumed_at    timestamptz,
  expires_at     timestamptz,
  PRIMARY KEY (model, id_hash)
);
CREATE INDEX oauth_payloads_of_grant ON oauth_payloads (grant_id) WHERE grant_id IS NOT NULL;
CREATE INDEX oauth_payloads_of_user ON oauth_payloads (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX oauth_payloads_of_client ON oauth_payloads (client_id) WHERE client_id IS NOT NULL;
CREATE INDEX oauth_payloads_by_uid ON oauth_payloads (model, uid_hash) WHERE uid_hash IS NOT NULL;
CREATE INDEX oauth_payloads_by_user_code ON oauth_payloads (model, user_code_hash) WHERE user_code_hash IS NOT NULL;
CREATE INDEX oauth_payloads_by_expiry ON oauth_payloads (expires_at) WHERE expires_at IS NOT NULL;
-- For the search for payloads to re-encrypt with another secret.
CREATE INDEX oauth_payloads_by_key ON oauth_payloads (key_id);

-- Keys that sign access tokens. A key is published before it signs, and verifies as long as a token that it signed may live.
CREATE TABLE signing_keys (
  kid            text        PRIMARY KEY,
  public_jwk     jsonb       NOT NULL,
  -- The private JWK, encrypted with IDENTITY_SECRET.
  private_jwk    bytea       NOT NULL,
  -- The secret that encrypted it.
  key_id         text        NOT NULL,
  created_at     timestamptz NOT NULL DEFAULT now(),
  signs_from     timestamptz NOT NULL DEFAULT now(),
  -- Null: it has no successor yet.
  verifies_until timestamptz
);

-- What every service has (libs/platform)

-- Whether the database belongs to a sandbox (SANDBOX); services with another setting refuse it.
CREATE TABLE database_mode (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sandbox  boolean NOT NULL
);
INSERT INTO database_mode (sandbox) VALUES (coalesce(current_setting('shop.sandbox', true), 'false')::boolean);

-- Saved answers of requests with an Idempotency-Key: a hash of the key, a fingerprint of the request keyed by it, and the
-- answer encrypted under it.
CREATE TABLE idempotency_keys (
  hash        bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
  fingerprint bytea       NOT NULL CHECK (octet_length(fingerprint) = 32),
  answer      bytea       NOT NULL,
  expires_at  timestamptz NOT NULL
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

-- Actions of staff and operators, written in the transaction of their effect (libs/platform/src/patterns/audit-log.ts). Append-only: the
-- service's own role may only INSERT and SELECT here, and triggers also stop mistakes of the owner. The owner deletes entries
-- older than 400 days with each migration.
CREATE TABLE audit_log (
  id          bigint         GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- In milliseconds, the precision of answers, because pages begin and end at a time.
  at          timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  operation   text           NOT NULL,
  request_id  text           NOT NULL,
  -- A user's UUID; null for an operator's command.
  subject     text,
  -- The subject's credentials that were presented, as <kind>:<id>.
  credentials text[]         NOT NULL,
  -- Valid credentials of other users that the request carried, too, as JSON: [{kind, id, subject}]. Null: none.
  other_credentials jsonb,
  target      text           NOT NULL
);
CREATE INDEX audit_log_by_time ON audit_log (at, id);
CREATE INDEX audit_log_by_subject ON audit_log (subject, at, id);
CREATE INDEX audit_log_by_operation ON audit_log (operation, at, id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER entries_stay_for_400_days BEFORE DELETE ON audit_log
  FOR EACH ROW WHEN (OLD.at > now() - interval '400 days') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER all_entries_stay BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Only a sequence's owner may raise it (libs/platform/src/postgres/sequences.ts), and the service is not the owner.
-- `hold_sequence` changes nothing, but blocks `nextval` by others until the transaction ends.
CREATE FUNCTION hold_sequence(sequence regclass) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('ALTER SEQUENCE %s INCREMENT BY 1', sequence);
END $$;
CREATE FUNCTION restart_sequence(sequence regclass, next bigint) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('ALTER SEQUENCE %s RESTART WITH %s', sequence, next);
END $$;
