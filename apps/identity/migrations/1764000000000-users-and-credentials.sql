-- Users, what they log in with, and the log of what was revoked. Secrets are kept as hashes only.

CREATE DOMAIN safe_id AS bigint CHECK (VALUE BETWEEN 1 AND 9007199254740991);
CREATE DOMAIN sha256 AS bytea CHECK (octet_length(VALUE) = 32);

-- Assigned ids leave the small ones to clients.
CREATE SEQUENCE assigned_user_ids START 1000000001 MAXVALUE 9007199254740991;

CREATE TABLE users (
  -- What other services know the user by; never used again.
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
  -- argon2id in the PHC format, which carries its parameters.
  password_hash text        NOT NULL,
  role          text        NOT NULL DEFAULT 'customer' CHECK (role IN ('customer', 'staff', 'admin')),
  version       bigint      NOT NULL DEFAULT 1,
  created_at    timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE sessions (
  id         uuid        PRIMARY KEY,
  user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
  token_hash sha256      NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
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
  revoked_at   timestamptz
);
CREATE INDEX api_keys_of_user ON api_keys (user_id, created_at DESC);

-- The log that followers keep their cached answers by. Its head is locked (UPDATE … RETURNING) in the transaction that
-- revokes, so positions are dense and become visible in their order.
CREATE TABLE revocation_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  position bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO revocation_head (position) VALUES (0);

CREATE TABLE revocations (
  position bigint      PRIMARY KEY,
  kind     text        NOT NULL CHECK (kind IN ('apiKey', 'session', 'user', 'accessToken', 'client')),
  id       text        NOT NULL,
  at       timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX revocations_by_age ON revocations (at);

-- Failed logins and those under way, counted per name and per network in windows that begin with the first of them. A
-- subject is a hash: what people type into a name field is sometimes their password.
CREATE TABLE login_failures (
  subject        sha256      PRIMARY KEY,
  failures       integer     NOT NULL,
  window_ends_at timestamptz NOT NULL
);
CREATE INDEX login_failures_by_age ON login_failures (window_ends_at);

-- A deletion that the store was asked about, or is about to be. It stays until the user is gone or the store has named
-- open orders, so that a process that dies in between leaves the work to another.
CREATE TABLE user_deletions (
  user_id      uuid        PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  -- Whose turn it is: a newer attempt takes over from an older one, which then decides nothing any more.
  attempt_id   uuid        NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now(),
  leased_until timestamptz NOT NULL
);
