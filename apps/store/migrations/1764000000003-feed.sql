-- The feed of order events (libs/events): a counter of numbers, the breaks in its history, and who follows it.
CREATE TABLE feed_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch    uuid    NOT NULL DEFAULT gen_random_uuid(),
  head     bigint  NOT NULL DEFAULT 0
);
INSERT INTO feed_head DEFAULT VALUES;

-- Numbers between the two are of a history that was lost when the database was restored from a backup.
CREATE TABLE feed_breaks (
  begins_at       bigint PRIMARY KEY,
  continues_after bigint NOT NULL,
  epoch           uuid   NOT NULL
);

CREATE TABLE feed_followers (
  name    text        PRIMARY KEY,
  passed  bigint      NOT NULL,
  seen_at timestamptz NOT NULL
);
