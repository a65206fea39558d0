-- The WAL timeline on which numbers were last assigned. A failover changes it, and the feed begins a new epoch (libs/events).
ALTER TABLE feed_head ADD COLUMN timeline text NOT NULL DEFAULT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
