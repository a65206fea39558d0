-- Snapshots that a replica holds open for an export (pg_export_snapshot), whichever replica reads by them. The holder lets go
-- when the row is gone, or was not used for a while.
CREATE TABLE plant_exports (
  snapshot text        PRIMARY KEY,
  used_at  timestamptz NOT NULL DEFAULT now()
);
