-- Second factors of log-ins: passkeys, one-time passwords (TOTP) and recovery codes.

CREATE TABLE factors (
  id            uuid        PRIMARY KEY,
  user_id       uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
  kind          text        NOT NULL CHECK (kind IN ('passkey', 'totp')),
  name          text        NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  created_at    timestamptz NOT NULL DEFAULT now(),
  last_used_at  timestamptz,
  -- Of a passkey: its counter went back, so there is a copy of its private key. It still counts as a factor, but proves nothing.
  locked_at     timestamptz,
  credential_id bytea       UNIQUE,
  public_key    bytea,
  -- 0: the authenticator does not count.
  counter       bigint,
  transports    text[]      NOT NULL DEFAULT '{}',
  -- Whether it may be on several devices.
  is_synced     boolean,
  -- Of a TOTP: encrypted with IDENTITY_SECRET, and the secret that encrypted it.
  secret        bytea,
  key_id        text,
  -- The time step of the last code that was accepted; none that is not later is accepted again.
  last_step     bigint,
  CONSTRAINT factors_passkey CHECK (kind <> 'passkey' OR (credential_id IS NOT NULL AND public_key IS NOT NULL AND counter >= 0 AND is_synced IS NOT NULL)),
  CONSTRAINT factors_totp_parts CHECK (kind <> 'totp' OR (secret IS NOT NULL AND key_id IS NOT NULL))
);
CREATE INDEX factors_of_user ON factors (user_id);
CREATE UNIQUE INDEX factors_totp ON factors (user_id) WHERE kind = 'totp';
-- For the search for secrets to re-encrypt.
CREATE INDEX factors_by_key ON factors (key_id) WHERE key_id IS NOT NULL;

-- Recovery codes that are not used yet. 100 random bits each, so a plain hash is enough.
CREATE TABLE recovery_codes (
  user_id   uuid   NOT NULL REFERENCES users ON DELETE CASCADE,
  code_hash sha256 NOT NULL,
  PRIMARY KEY (user_id, code_hash)
);

-- Challenges for passkeys, each used once.
CREATE TABLE passkey_challenges (
  challenge_hash sha256      PRIMARY KEY,
  -- A hash of the page and the browser that may answer.
  bound_to       sha256      NOT NULL,
  expires_at     timestamptz NOT NULL
);
CREATE INDEX passkey_challenges_by_expiry ON passkey_challenges (expires_at);

-- Removals of an administrator's factor that one administrator has asked for and another must confirm.
CREATE TABLE factor_removals (
  factor_id  uuid        PRIMARY KEY REFERENCES factors ON DELETE CASCADE,
  asked_by   uuid        NOT NULL,
  expires_at timestamptz NOT NULL
);

-- proved_factor: the session's log-in proved a second factor. confirmed_at: when its user last proved again who it is; null: never.
ALTER TABLE sessions
  ADD COLUMN proved_factor boolean NOT NULL DEFAULT false,
  ADD COLUMN confirmed_at  timestamptz;
