-- What receivers answer to attempts, names of endpoints, and the ages of secrets.

-- Of attempts that failed, by their number from 1: some headers and the beginning of the body.
ALTER TABLE webhook_deliveries ADD COLUMN refusals jsonb;
-- Of the attempt that succeeded: less, and without empty members, since most rows have only this. Null: nothing.
ALTER TABLE webhook_deliveries ADD COLUMN acceptance jsonb;

ALTER TABLE webhooks ADD COLUMN name text;

-- Null for a secret that is older than this column.
ALTER TABLE webhook_secrets ADD COLUMN created_at timestamptz;
ALTER TABLE webhook_secrets ALTER COLUMN created_at SET DEFAULT now();
