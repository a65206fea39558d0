-- The log also holds event types that clients get only on request. Processes of the previous release know one type, and send
-- every event that is not a repetition. So rows of other types have `repeats = true`, which hides them from the previous
-- release; processes that know the types read `is_repetition`. Once no process of the previous release runs, `repeats` can mean
-- a repetition again and `is_repetition` can be dropped.
ALTER TABLE event_log
  -- Null: `order.status_changed`.
  ADD COLUMN event_type    text,
  -- Null: `repeats` applies.
  ADD COLUMN is_repetition boolean;

CREATE FUNCTION note_event_type() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF starts_with(NEW.body, '{"event":"order.status_changed"') THEN
    NEW.event_type := NULL;
    NEW.is_repetition := NULL;
  ELSE
    NEW.event_type := NEW.body::jsonb ->> 'event';
    NEW.is_repetition := EXISTS (SELECT 1 FROM event_log WHERE event_id = NEW.event_id AND seq < NEW.seq);
    NEW.repeats := true;
  END IF;
  RETURN NEW;
END $$;

-- A trigger, because processes of the previous release log events, too.
CREATE TRIGGER event_log_type BEFORE INSERT ON event_log FOR EACH ROW
  WHEN (NOT starts_with(NEW.body, '{"event":"order.status_changed"')) EXECUTE FUNCTION note_event_type();
CREATE TRIGGER event_log_type_anew BEFORE UPDATE OF body ON event_log FOR EACH ROW
  WHEN (OLD.event_type IS NOT NULL OR NOT starts_with(NEW.body, '{"event":"order.status_changed"')) EXECUTE FUNCTION note_event_type();
