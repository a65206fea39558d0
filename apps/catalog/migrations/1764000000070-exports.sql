-- Snapshots that a replica holds open for an export (pg_export_snapshot); any replica can read with them. The holder releases
-- a snapshot when its row is deleted or has not been used for a while.
CREATE TABLE plant_exports (
  snapshot text        PRIMARY KEY,
  used_at  timestamptz NOT NULL DEFAULT now()
);
