-- Bodies of old events are dropped once all followers have passed them (libs/events); the timeline stays for ever.
CREATE TABLE feed_kept (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Events from this number on are kept whole.
  oldest   bigint  NOT NULL DEFAULT 1
);
INSERT INTO feed_kept DEFAULT VALUES;

-- The new rule allows all that the old one does. It is checked against old rows by the next migration: here that would keep
-- everybody waiting.
ALTER TABLE order_transitions
  DROP CONSTRAINT moves_have_events,
  ADD CONSTRAINT moves_have_event_ids
    CHECK ((previous_status IS NULL) = (event_id IS NULL) AND (event_id IS NOT NULL OR body IS NULL)) NOT VALID,
  -- What is not numbered yet has its body.
  ADD CONSTRAINT unnumbered_have_bodies CHECK (feed_seq IS NOT NULL OR event_id IS NULL OR body IS NOT NULL) NOT VALID;
