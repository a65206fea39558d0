-- The log holds event types that clients get only when they ask for them. Processes of the release before know one type, and show
-- every event that is no repetition. So a row of another type says `repeats` to them, and `is_repetition` to processes that
-- know the types. Once no process of that release runs, `repeats` can say it again, and `is_repetition` goes.
ALTER TABLE event_log
  -- Null: `order.status_changed`.
  ADD COLUMN event_type    text,
  -- Null where `repeats` says it.
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

-- A trigger, since processes of the release before log events as well.
CREATE TRIGGER event_log_type BEFORE INSERT ON event_log FOR EACH ROW
  WHEN (NOT starts_with(NEW.body, '{"event":"order.status_changed"')) EXECUTE FUNCTION note_event_type();
CREATE TRIGGER event_log_type_anew BEFORE UPDATE OF body ON event_log FOR EACH ROW
  WHEN (OLD.event_type IS NOT NULL OR NOT starts_with(NEW.body, '{"event":"order.status_changed"')) EXECUTE FUNCTION note_event_type();
