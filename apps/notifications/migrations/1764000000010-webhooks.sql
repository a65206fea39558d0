-- Endpoints of users that want order events by POST, and what is sent to them (src/webhooks).
CREATE TABLE webhooks (
  id              uuid        PRIMARY KEY,
  -- What lists are paged by.
  position        bigint      GENERATED ALWAYS AS IDENTITY UNIQUE,
  owner_id        uuid        NOT NULL,
  url             text        NOT NULL,
  event_types     text[]      NOT NULL CHECK (cardinality(event_types) > 0),
  order_id        bigint,
  plant_id        bigint,
  description     text,
  -- `deleted`: nobody sees it any more; the sweeper removes it with its deliveries.
  state           text        NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'disabled', 'deleted')),
  disabled_reason text        CHECK (disabled_reason IN ('gone', 'failing')),
  -- When it left its state last: what is held or deleted ends some time after it.
  state_since     timestamptz NOT NULL DEFAULT now(),
  -- It was made with a credential that could read the orders of all users.
  made_for_all    boolean     NOT NULL,
  -- And its owner still may.
  sees_all        boolean     NOT NULL CHECK (made_for_all OR NOT sees_all),
  version         integer     NOT NULL DEFAULT 1,
  created_at      timestamptz NOT NULL DEFAULT now(),
  CHECK (disabled_reason IS NULL OR state <> 'enabled')
);
CREATE INDEX webhooks_by_owner ON webhooks (owner_id, position);
CREATE INDEX webhooks_that_see_all ON webhooks (id) WHERE sees_all;
CREATE INDEX webhooks_not_enabled ON webhooks (state) WHERE state <> 'enabled';

-- What signs. At most two of an endpoint: the newest, and the one before it until `ends_at`.
CREATE TABLE webhook_secrets (
  id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id uuid        NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  -- Which of our keys encrypted it (src/webhooks/secret-box.ts).
  key_id     text        NOT NULL,
  encrypted  bytea       NOT NULL,
  ends_at    timestamptz NOT NULL DEFAULT 'infinity'
);
CREATE INDEX webhook_secrets_by_webhook ON webhook_secrets (webhook_id);
CREATE INDEX webhook_secrets_by_key ON webhook_secrets (key_id);

-- How the sending to an endpoint goes. One row each; it changes with every batch that is claimed or ended.
CREATE TABLE webhook_queues (
  webhook_id       uuid             PRIMARY KEY REFERENCES webhooks ON DELETE CASCADE,
  -- When a worker looks at it next. Whoever makes a delivery due earlier brings it forward.
  turn_at          timestamptz      NOT NULL DEFAULT 'infinity',
  -- Attempts that its rate allows at `tokens_at`.
  tokens           double precision NOT NULL DEFAULT 0,
  tokens_at        timestamptz      NOT NULL DEFAULT '-infinity',
  -- Attempts in a row that got no answer, or none in good time.
  silent_attempts  integer          NOT NULL DEFAULT 0,
  -- Nothing is sent before: it does not answer, or has asked for a pause.
  paused_until     timestamptz      NOT NULL DEFAULT '-infinity',
  -- Of the first failure since the last success.
  failing_since    timestamptz
) WITH (fillfactor = 50);
CREATE INDEX webhook_queues_by_turn ON webhook_queues (turn_at);

-- An endpoint's deliveries of one order, while there are some to come: first in, first out. Whoever adds one or ends one
-- holds the row, so that no successor is forgotten.
CREATE TABLE webhook_lanes (
  webhook_id uuid    NOT NULL,
  order_id   bigint  NOT NULL,
  -- How often something was added; 1 is a new lane, whose first delivery may start.
  additions  integer NOT NULL DEFAULT 1,
  PRIMARY KEY (webhook_id, order_id)
);

-- No foreign key: rows are made from a join with their endpoint and removed before it, and a check for each row costs more
-- than the rest of its insert.
CREATE TABLE webhook_deliveries (
  id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  webhook_id uuid        NOT NULL,
  event_id   uuid        NOT NULL,
  -- The event's number in the log; null for a test.
  seq        bigint,
  order_id   bigint,
  -- Of another user's order: only for an endpoint that sees all.
  of_others  boolean     NOT NULL,
  -- It waits for its predecessors of the same order; a resend or a test does not.
  in_lane    boolean     NOT NULL,
  -- The bytes, kept here: what is to be sent (or sent again) does not depend on how long the log keeps events.
  body       text        NOT NULL,
  state      text        NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered', 'failed')),
  -- As clients see them, oldest first.
  attempts   jsonb       NOT NULL DEFAULT '[]',
  -- Of a pending one: when it is sent, or when the lease of its worker ends. Null behind a predecessor.
  due_at     timestamptz,
  -- Names the claim of the worker that has it.
  lease      uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at   timestamptz,
  CHECK ((state = 'pending') = (ended_at IS NULL)),
  CHECK (state = 'pending' OR (due_at IS NULL AND lease IS NULL)),
  CHECK (order_id IS NOT NULL OR NOT in_lane)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_deliveries_leased ON webhook_deliveries (webhook_id) WHERE lease IS NOT NULL;
-- Lanes, and what is counted, held or ended from outside.
CREATE INDEX webhook_deliveries_open ON webhook_deliveries (webhook_id, order_id, id) WHERE ended_at IS NULL;
CREATE INDEX webhook_deliveries_listed ON webhook_deliveries (webhook_id, state, id);
CREATE INDEX webhook_deliveries_by_event ON webhook_deliveries (event_id, webhook_id);
CREATE INDEX webhook_deliveries_ended ON webhook_deliveries (ended_at) WHERE ended_at IS NOT NULL;
