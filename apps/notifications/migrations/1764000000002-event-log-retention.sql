-- The log's oldest events are deleted when nobody needs them any more (libs/events).
CREATE TABLE log_kept (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Events from this number on are in the log.
  oldest   bigint  NOT NULL DEFAULT 1
);
INSERT INTO log_kept DEFAULT VALUES;
