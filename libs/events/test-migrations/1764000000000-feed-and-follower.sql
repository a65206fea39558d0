-- The tables of a service with a feed (README), and an outbox for the tests.
CREATE TABLE feed_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch    uuid    NOT NULL DEFAULT gen_random_uuid(),
  head     bigint  NOT NULL DEFAULT 0,
  -- The WAL timeline on which numbers were last assigned. A failover changes it.
  timeline text    NOT NULL DEFAULT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
);
INSERT INTO feed_head DEFAULT VALUES;

CREATE TABLE feed_breaks (
  begins_at       bigint PRIMARY KEY,
  continues_after bigint NOT NULL,
  epoch           uuid   NOT NULL
);

-- Events from this number on still have their bodies.
CREATE TABLE feed_kept (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  oldest   bigint  NOT NULL DEFAULT 1
);
INSERT INTO feed_kept DEFAULT VALUES;

CREATE TABLE feed_followers (
  name    text        PRIMARY KEY,
  passed  bigint      NOT NULL,
  seen_at timestamptz NOT NULL
);

CREATE TABLE things (id bigint PRIMARY KEY, version bigint NOT NULL DEFAULT 0);
CREATE TABLE thing_events (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  thing_id bigint NOT NULL,
  version  bigint NOT NULL,
  owner_id uuid   NOT NULL,
  at       timestamptz NOT NULL DEFAULT now(),
  event_id uuid,
  body     text,
  traceparent text,
  feed_seq bigint UNIQUE
);
CREATE INDEX thing_events_unnumbered ON thing_events (position) WHERE feed_seq IS NULL AND event_id IS NOT NULL;

-- Written by the README's example.
CREATE TABLE bookings (event_id uuid PRIMARY KEY, body text NOT NULL);

-- The tables of a service with a follower (README).
CREATE TABLE event_log (
  seq       bigint      PRIMARY KEY,
  event_id  uuid        NOT NULL,
  subject   uuid        NOT NULL,
  body      text        NOT NULL,
  traceparent text,
  -- Whether the event was logged under an earlier number, before its feed was restored from a backup.
  repeats   boolean     NOT NULL,
  logged_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX event_log_by_event ON event_log (event_id);

CREATE TABLE feed_watermark (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch     uuid,
  watermark bigint  NOT NULL DEFAULT 0
);
INSERT INTO feed_watermark DEFAULT VALUES;

CREATE TABLE log_epochs (
  epoch     uuid   PRIMARY KEY,
  after_seq bigint NOT NULL
);

-- Events from this number on are in the log.
CREATE TABLE log_kept (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  oldest   bigint  NOT NULL DEFAULT 1
);
INSERT INTO log_kept DEFAULT VALUES;

CREATE TABLE event_gaps (
  after_seq    bigint  PRIMARY KEY,
  resumes_at   bigint  NOT NULL,
  epoch        uuid    NOT NULL,
  nothing_lost boolean NOT NULL DEFAULT false
);
