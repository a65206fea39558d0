-- OAuth 2.0: who may ask for tokens, what the provider must remember, and what tokens are signed with.

CREATE TABLE oauth_clients (
  client_id   text        PRIMARY KEY CHECK (length(client_id) BETWEEN 1 AND 200),
  -- The user that its tokens act for, and who takes it along when deleted.
  user_id     uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
  -- argon2id: unlike keys and tokens of ours, a secret may be one that a person made up.
  secret_hash text        NOT NULL,
  scopes      text[]      NOT NULL CHECK (cardinality(scopes) > 0),
  created_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX oauth_clients_of_user ON oauth_clients (user_id);

-- State of the provider, by the name of its model. Ids of most models are themselves secrets (a code, a refresh token), so
-- only hashes of them are kept, and payloads, which repeat them, are encrypted.
CREATE TABLE oauth_payloads (
  model          text        NOT NULL,
  id_hash        sha256      NOT NULL,
  payload        bytea       NOT NULL,
  grant_hash     sha256,
  uid_hash       sha256,
  user_code_hash sha256,
  consumed_at    timestamptz,
  expires_at     timestamptz,
  PRIMARY KEY (model, id_hash)
);
CREATE INDEX oauth_payloads_of_grant ON oauth_payloads (grant_hash) WHERE grant_hash IS NOT NULL;
CREATE INDEX oauth_payloads_by_uid ON oauth_payloads (model, uid_hash) WHERE uid_hash IS NOT NULL;
CREATE INDEX oauth_payloads_by_user_code ON oauth_payloads (model, user_code_hash) WHERE user_code_hash IS NOT NULL;
CREATE INDEX oauth_payloads_by_expiry ON oauth_payloads (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE signing_keys (
  kid         text        PRIMARY KEY,
  public_jwk  jsonb       NOT NULL,
  -- The private JWK, encrypted with IDENTITY_SECRET.
  private_jwk bytea       NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);
