-- The schema of notifications: the log of order events, and webhooks.

-- The log

-- A complete copy of the store's feed of order events (libs/events), with columns that clients filter by.
CREATE TABLE event_log (
  seq         bigint      PRIMARY KEY,
  event_id    uuid        NOT NULL,
  -- The order's owner at the time of the event, who may see it.
  subject     uuid        NOT NULL,
  -- The bytes that clients get.
  body        text        NOT NULL,
  -- The cause of the event (W3C Trace Context): traces of frames and webhooks link to it. Null if untraced. Clients never get it.
  traceparent text,
  -- Whether the event was logged under an earlier number, before the store was restored from a backup.
  repeats     boolean     NOT NULL,
  logged_at   timestamptz NOT NULL DEFAULT now(),
  -- Members of the body; null where it has none.
  event_type  text        NOT NULL,
  order_id    bigint,
  plant_id    bigint,
  new_status  text
);
CREATE INDEX event_log_by_event ON event_log (event_id);
-- A customer who resumes reads only their own events.
CREATE INDEX event_log_by_subject ON event_log (subject, seq);

CREATE TABLE feed_watermark (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch     uuid,
  -- The log is complete up to this number.
  watermark bigint  NOT NULL DEFAULT 0
);
INSERT INTO feed_watermark DEFAULT VALUES;

-- Every epoch that the log has followed, and the last number before it, to which cursors of clients refer.
CREATE TABLE log_epochs (
  epoch     uuid   PRIMARY KEY,
  after_seq bigint NOT NULL
);

-- Numbers without an event in this log: lost with the store's history, or deleted by the store before this log had them.
CREATE TABLE event_gaps (
  after_seq  bigint PRIMARY KEY,
  resumes_at bigint NOT NULL,
  epoch      uuid   NOT NULL
);

CREATE TABLE log_kept (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Events from this number on are in the log; retention has deleted the older ones.
  oldest   bigint  NOT NULL DEFAULT 1
);
INSERT INTO log_kept DEFAULT VALUES;

-- Webhooks

-- Endpoints to which users want order events posted.
CREATE TABLE webhooks (
  id              uuid        PRIMARY KEY,
  -- Lists are paged by it.
  position        bigint      GENERATED ALWAYS AS IDENTITY UNIQUE,
  owner_id        uuid        NOT NULL,
  url             text        NOT NULL,
  -- Of the URL, or its /64 for an IPv6 address: posts to one host are limited.
  host            text        NOT NULL,
  event_types     text[]      NOT NULL CHECK (cardinality(event_types) > 0),
  order_id        bigint,
  plant_id        bigint,
  -- Filters status changes only.
  new_statuses    text[]      CHECK (cardinality(new_statuses) > 0),
  description     text,
  -- `deleted`: visible to no one; the sweeper removes it with its deliveries.
  state           text        NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'disabled', 'deleted')),
  disabled_reason text        CHECK (disabled_reason IN ('gone', 'failing')),
  -- When the state last changed: held deliveries and deleted endpoints end some time later.
  state_since     timestamptz NOT NULL DEFAULT now(),
  -- It was created with a credential that could read the orders of all users.
  made_for_all    boolean     NOT NULL,
  -- And its owner still may.
  sees_all        boolean     NOT NULL CHECK (made_for_all OR NOT sees_all),
  -- It has types of stock events, and its owner may read stock.
  sees_stock      boolean     NOT NULL,
  version         integer     NOT NULL DEFAULT 1,
  created_at      timestamptz NOT NULL DEFAULT now(),
  CHECK (disabled_reason IS NULL OR state <> 'enabled')
);
CREATE INDEX webhooks_by_owner ON webhooks (owner_id, position);
CREATE INDEX webhooks_that_see_all ON webhooks (id) WHERE sees_all;
CREATE INDEX webhooks_that_see_stock ON webhooks (id) WHERE sees_stock;
CREATE INDEX webhooks_not_enabled ON webhooks (state) WHERE state <> 'enabled';

-- Secrets that sign. An endpoint has at most two: the newest, and the one before it until `ends_at`.
CREATE TABLE webhook_secrets (
  id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id uuid        NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  -- The key that encrypted it: NOTIFICATIONS_SECRET may hold several.
  key_id     text        NOT NULL,
  encrypted  bytea       NOT NULL,
  ends_at    timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE INDEX webhook_secrets_by_webhook ON webhook_secrets (webhook_id);
CREATE INDEX webhook_secrets_by_key ON webhook_secrets (key_id);

-- Enqueueing: deliveries are created in bounded steps (docs/decisions/webhooks.md). Endpoints that see their owner's orders
-- share webhook_watermark; each endpoint that was created to see all orders follows the log with its own cursor.

CREATE TABLE webhook_watermark (
  only_row        boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- The deliveries of events up to this number are created.
  watermark       bigint  NOT NULL DEFAULT 0,
  -- One event can have more deliveries than a step creates. part_seq is the first event after the watermark that has any; its deliveries
  -- to endpoints up to part_webhook_id are created.
  part_seq        bigint,
  part_webhook_id uuid
);
INSERT INTO webhook_watermark DEFAULT VALUES;

-- No index on look_at: every step changes it, there are few rows, and without the index updates stay on their page.
CREATE TABLE webhook_cursors (
  webhook_id uuid        PRIMARY KEY REFERENCES webhooks ON DELETE CASCADE,
  -- This endpoint's deliveries of events up to this number are created.
  watermark  bigint      NOT NULL,
  -- When a step may next take this endpoint; the longest overdue endpoint comes first.
  look_at    timestamptz NOT NULL DEFAULT now(),
  -- Length of the last pause, which begins when enough of its deliveries are due or when its step failed.
  pause_ms   integer     NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Sending

-- The times of due deliveries, turns and pauses never go back, although the clock of this database's host may be set back (QueueClock).
CREATE TABLE webhook_clock (
  only_row boolean     PRIMARY KEY DEFAULT true CHECK (only_row),
  -- How far they are ahead of that clock.
  ahead    interval    NOT NULL DEFAULT '0',
  -- The latest that a replica has seen, to some seconds.
  seen     timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO webhook_clock DEFAULT VALUES;

-- The state of sending to an endpoint. One row each; it changes with every batch that is claimed or ended.
CREATE TABLE webhook_queues (
  webhook_id       uuid             PRIMARY KEY REFERENCES webhooks ON DELETE CASCADE,
  -- When a worker looks at it next. A transaction that makes a delivery due earlier brings it forward.
  turn_at          timestamptz      NOT NULL DEFAULT 'infinity',
  -- Attempts that its rate allows at `tokens_at`.
  tokens           double precision NOT NULL DEFAULT 0,
  tokens_at        timestamptz      NOT NULL DEFAULT '-infinity',
  -- Consecutive attempts without an answer, or with a late one.
  silent_attempts  integer          NOT NULL DEFAULT 0,
  -- Nothing is sent before: it does not answer, or has asked for a pause.
  paused_until     timestamptz      NOT NULL DEFAULT '-infinity',
  -- Time of the first failure since the last success.
  failing_since    timestamptz,
  -- The first and the last delivery of its last replay.
  replayed_from    bigint,
  replayed_to      bigint
) WITH (fillfactor = 50);
CREATE INDEX webhook_queues_by_turn ON webhook_queues (turn_at);

-- How many posts a host gets, of all endpoints and owners. A claim locks the row, so all replicas together keep to it.
CREATE TABLE webhook_hosts (
  host       text             PRIMARY KEY,
  -- Posts a second.
  rate       double precision NOT NULL,
  -- Posts that the rate allows at `tokens_at`.
  tokens     double precision NOT NULL,
  tokens_at  timestamptz      NOT NULL,
  -- Answers since `counted_at`: 2xx within a second, and others. They decide about the next rate.
  counted_at timestamptz      NOT NULL,
  good       integer          NOT NULL DEFAULT 0,
  bad        integer          NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- An endpoint's deliveries of one order, while some are pending: first in, first out. A transaction that adds or ends one holds the
-- row, so that no successor is forgotten.
CREATE TABLE webhook_lanes (
  webhook_id uuid    NOT NULL,
  order_id   bigint  NOT NULL,
  -- Number of additions; 1 is a new lane, whose first delivery may start.
  additions  integer NOT NULL DEFAULT 1,
  PRIMARY KEY (webhook_id, order_id)
);

-- No foreign key: rows are made from a join with their endpoint and removed before it, and a check for each row costs more than the
-- rest of its insert.
CREATE TABLE webhook_deliveries (
  id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id  uuid        NOT NULL,
  event_id    uuid        NOT NULL,
  -- The event's number in the log; null for a test.
  seq         bigint,
  order_id    bigint,
  -- Of another user's order: only for an endpoint that sees all.
  of_others   boolean     NOT NULL,
  -- It waits for its predecessors of the same order; a resend or a test does not.
  in_lane     boolean     NOT NULL,
  -- The bytes, so that sending and resending do not depend on the log's retention.
  body        text        NOT NULL,
  traceparent text,
  state       text        NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  -- As clients see them, oldest first.
  attempts    jsonb       NOT NULL DEFAULT '[]',
  -- What the receiver answered to the last attempt, if that failed: for its owner.
  response    jsonb,
  -- Of a pending one: when it is sent, or when the lease of its worker ends. Null behind a predecessor.
  due_at      timestamptz,
  -- Names the claim of the worker that has it.
  lease       uuid,
  created_at  timestamptz NOT NULL DEFAULT now(),
  ended_at    timestamptz,
  CHECK ((state = 'pending') = (ended_at IS NULL)),
  CHECK (state = 'pending' OR (due_at IS NULL AND lease IS NULL)),
  CHECK (order_id IS NOT NULL OR NOT in_lane)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (webhook_id) WHERE lease IS NOT NULL;
-- For lanes, and for deliveries that are counted, held or ended from outside.
CREATE INDEX webhook_deliveries_open ON webhook_deliveries (webhook_id, order_id, id) WHERE ended_at IS NULL;
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (webhook_id, state, id);
CREATE INDEX webhook_deliveries_by_event ON webhook_deliveries (event_id, webhook_id);
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE ended_at IS NOT NULL;

-- What every service has (libs/platform)

-- Whether the database belongs to a sandbox (SANDBOX); services with another setting refuse it.
CREATE TABLE database_mode (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sandbox  boolean NOT NULL
);
INSERT INTO database_mode (sandbox) VALUES (coalesce(current_setting('shop.sandbox', true), 'false')::boolean);

-- Saved answers of requests with an Idempotency-Key: a hash of the key, a fingerprint of the request keyed by it, and the answer
-- encrypted under it.
CREATE TABLE idempotency_keys (
  hash        bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
  fingerprint bytea       NOT NULL CHECK (octet_length(fingerprint) = 32),
  answer      bytea       NOT NULL,
  expires_at  timestamptz NOT NULL
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
