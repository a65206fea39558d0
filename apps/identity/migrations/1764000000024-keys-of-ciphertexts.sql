-- The secret that encrypted the row: IDENTITY_SECRET may hold several. Null: written by a release that knew only one.
ALTER TABLE oauth_payloads ADD COLUMN key_id text;
ALTER TABLE signing_keys ADD COLUMN key_id text;
