-- API keys are replaced while they are in use, and so are the keys that access tokens are signed with.

-- A key and its successor both work until the old one expires; with a third one of their line the oldest must have ended.
ALTER TABLE api_keys
  ADD COLUMN successor_id uuid     REFERENCES api_keys ON DELETE SET NULL,
  -- How long it was made for, which its successor gets as well; expires_at may end it earlier. NULL: without an end.
  ADD COLUMN lifetime     interval;
UPDATE api_keys SET lifetime = expires_at - created_at;
CREATE UNIQUE INDEX api_keys_by_successor ON api_keys (successor_id) WHERE successor_id IS NOT NULL;

-- A key is published before it signs, and verifies as long as a token that it signed may live.
ALTER TABLE signing_keys
  ADD COLUMN signs_from     timestamptz NOT NULL DEFAULT now(),
  -- NULL: it has no successor yet.
  ADD COLUMN verifies_until timestamptz;
