-- Actions of staff and operators, written in the transaction of their effect (libs/platform/src/audit). Append-only: the
-- service's own role may only INSERT and SELECT here, and triggers also stop mistakes of the owner. The owner deletes entries
-- older than 400 days with each migration.
CREATE TABLE audit_log (
  id          bigint         GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- In milliseconds, the precision of answers, because pages begin and end at a time.
  at          timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  operation   text           NOT NULL,
  request_id  text           NOT NULL,
  -- A user's UUID; null for an operator's command.
  subject     text,
  -- The kinds of credential that were presented.
  credentials text[]         NOT NULL,
  target      text           NOT NULL
);
CREATE INDEX audit_log_by_time ON audit_log (at, id);
CREATE INDEX audit_log_by_subject ON audit_log (subject, at, id);
CREATE INDEX audit_log_by_operation ON audit_log (operation, at, id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER entries_stay_for_400_days BEFORE DELETE ON audit_log
  FOR EACH ROW WHEN (OLD.at > now() - interval '400 days') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER all_entries_stay BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Who requested the deletion of the plant, for the audit entry: the deletion may complete after the request. An actor of
-- libs/platform/src/audit as JSON.
ALTER TABLE stock_intents ADD COLUMN asked_by jsonb;
