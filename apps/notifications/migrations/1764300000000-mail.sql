-- Mail to users.

-- A row each: mails that identity asks for, and mails about events of the log, which have the event's id. A copy that staff asked for
-- has an id of its own. The position orders the mails of an order and of a user.
CREATE TABLE mails (
  position   bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id         uuid        NOT NULL UNIQUE,
  kind       text        NOT NULL,
  user_id    uuid        NOT NULL,
  -- Of a mail about an order: the order, and the event as clients get it. The address is looked up when the mail is sent.
  order_id   bigint,
  event      text,
  -- Of a mail about an account: address and data, which may have a link. Deleted once the mail was sent, or failed and its link has ended.
  key_id     text,
  encrypted  bytea,
  -- When the link ends; null without a link.
  link_until timestamptz,
  -- What staff see of the address. Null before the first attempt of a mail about an order.
  masked     text,
  -- `held`: the user has got too many mails about the account within an hour.
  state      text        NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'held', 'sent', 'failed')),
  attempts   integer     NOT NULL DEFAULT 0,
  tried_at   timestamptz,
  last_error text,
  -- Of one that has not ended: when it is sent, or when the lease of its sender ends.
  due_at     timestamptz,
  -- Names the claim of the sender that has it.
  lease      uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at   timestamptz,
  CHECK ((state IN ('pending', 'held')) = (ended_at IS NULL)),
  CHECK ((ended_at IS NULL) = (due_at IS NOT NULL)),
  CHECK (ended_at IS NULL OR lease IS NULL),
  CHECK ((order_id IS NULL) = (event IS NULL)),
  CHECK ((encrypted IS NULL) = (key_id IS NULL))
);
-- Mails about accounts come first.
CREATE INDEX mails_due ON mails ((order_id IS NOT NULL), due_at, position) WHERE due_at IS NOT NULL;
CREATE INDEX mails_open_by_order ON mails (order_id, position) WHERE ended_at IS NULL AND order_id IS NOT NULL;
CREATE INDEX mails_by_user ON mails (user_id, position);
CREATE INDEX mails_by_state ON mails (state, position);
CREATE INDEX mails_by_kind ON mails (kind, position);
CREATE INDEX mails_ended ON mails (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX mails_with_text ON mails (key_id) WHERE key_id IS NOT NULL;

-- Who gets mail about orders. A row without an address stays, because its version refuses older ones.
CREATE TABLE mail_recipients (
  user_id   uuid   PRIMARY KEY,
  -- Identity's number of the change.
  version   bigint NOT NULL,
  -- Address and name.
  key_id    text,
  encrypted bytea,
  CHECK ((encrypted IS NULL) = (key_id IS NULL))
);
CREATE INDEX mail_recipients_with_address ON mail_recipients (key_id) WHERE key_id IS NOT NULL;

-- The mails of events up to this number are enqueued. It begins at the end of the log: nobody gets mail about earlier orders.
CREATE TABLE mail_watermark (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  watermark bigint  NOT NULL
);
INSERT INTO mail_watermark (watermark) SELECT watermark FROM feed_watermark;

-- Actions of staff, written in the transaction of their effect (libs/platform/src/patterns/audit-log.ts). Append-only: the service's own
-- role may only INSERT and SELECT here, and triggers also stop mistakes of the owner. The owner deletes entries older than 400 days with
-- each migration.
CREATE TABLE audit_log (
  id          bigint         GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- In milliseconds, the precision of answers, because pages begin and end at a time.
  at          timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  operation   text           NOT NULL,
  request_id  text           NOT NULL,
  -- A user's UUID.
  subject     text,
  -- The subject's credentials that were presented, as <kind>:<id>.
  credentials text[]         NOT NULL,
  -- Valid credentials of other users that the request carried, too, as JSON: [{kind, id, subject}]. Null: none.
  other_credentials jsonb,
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
