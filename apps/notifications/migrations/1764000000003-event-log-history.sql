-- Every epoch that the log has followed, and the last number before it: what old cursors of clients mean. libs/events,
-- which sets the epoch, keeps only the present one.
CREATE TABLE log_epochs (
  epoch     uuid   PRIMARY KEY,
  after_seq bigint NOT NULL
);
INSERT INTO log_epochs SELECT epoch, 0 FROM feed_watermark WHERE epoch IS NOT NULL;

CREATE FUNCTION note_log_epoch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO log_epochs VALUES (NEW.epoch, OLD.watermark) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE TRIGGER feed_watermark_epoch AFTER UPDATE OF epoch ON feed_watermark
  FOR EACH ROW WHEN (NEW.epoch IS DISTINCT FROM OLD.epoch) EXECUTE FUNCTION note_log_epoch();

-- A customer who resumes asks for the own events among everybody's.
CREATE INDEX event_log_by_subject ON event_log (subject, seq);
