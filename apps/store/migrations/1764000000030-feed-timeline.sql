-- The WAL timeline that numbers were last given on: after a failover the feed begins a new epoch (libs/events).
ALTER TABLE feed_head ADD COLUMN timeline text NOT NULL DEFAULT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
