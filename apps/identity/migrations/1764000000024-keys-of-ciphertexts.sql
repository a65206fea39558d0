-- Which secret encrypted it: IDENTITY_SECRET may hold several. Absent: written by a release that knew of one.
ALTER TABLE oauth_payloads ADD COLUMN key_id text;
ALTER TABLE signing_keys ADD COLUMN key_id text;
