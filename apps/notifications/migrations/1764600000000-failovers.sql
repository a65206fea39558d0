-- The store left the numbers out in a failover, after the log's last event: no event is missing, and clients that have nothing beyond that event get
-- no notice. False where an older release recorded it.
ALTER TABLE event_gaps ADD COLUMN nothing_lost boolean NOT NULL DEFAULT false;
