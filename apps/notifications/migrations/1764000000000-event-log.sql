-- The whole copy of the store's feed of order events (libs/events), with what clients may filter by.
CREATE TABLE event_log (
  seq        bigint      PRIMARY KEY,
  event_id   uuid        NOT NULL,
  -- The order's owner at the time of the event, who may see it.
  subject    uuid        NOT NULL,
  -- The bytes that clients get.
  body       text        NOT NULL,
  -- The same event was logged under an earlier number, before the store was restored from a backup.
  repeats    boolean     NOT NULL,
  logged_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX event_log_by_event ON event_log (event_id);

CREATE TABLE feed_watermark (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch     uuid,
  watermark bigint  NOT NULL DEFAULT 0
);
INSERT INTO feed_watermark DEFAULT VALUES;

-- Numbers that no event will ever have again: they were lost with the store's history.
CREATE TABLE event_gaps (
  after_seq  bigint PRIMARY KEY,
  resumes_at bigint NOT NULL,
  epoch      uuid   NOT NULL
);
