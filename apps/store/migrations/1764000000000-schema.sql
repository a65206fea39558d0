-- The store's schema. Identifiers and versions are bigint, bounded to the integers that JavaScript represents exactly.

CREATE DOMAIN safe_id AS bigint CHECK (VALUE BETWEEN 1 AND 9007199254740991);
CREATE DOMAIN units AS bigint CHECK (VALUE >= 0);

-- Stock

-- One row per plant id that the catalog ever named. `incarnation` and `listing_version` only increase, so a late or repeated call
-- of the catalog changes nothing. The row of a deleted plant stays, listed `retired`.
CREATE TABLE stock (
  plant_id        safe_id PRIMARY KEY,
  -- 0: only the id is known; the catalog has not opened the plant's stock yet.
  incarnation     bigint  NOT NULL,
  listing         text    NOT NULL CHECK (listing IN ('available', 'pending', 'sold', 'retired')),
  listing_version bigint  NOT NULL,
  free            units   NOT NULL,
  reserved        units   NOT NULL DEFAULT 0,
  sold            units   NOT NULL DEFAULT 0,
  -- Of orders that staff cancelled, and whose plants cannot be sold again.
  written_off     units   NOT NULL DEFAULT 0,
  -- All units ever added, less those that staff or a retirement removed.
  supplied        units   NOT NULL,
  -- The latest attempt to retire the plant that was refused because of open orders; older attempts no longer matter.
  refused_attempt bigint  NOT NULL DEFAULT 0,
  -- From this number of free units down the plant is low on stock. Null: 10 counts.
  low_stock_at    units,
  version         bigint  NOT NULL DEFAULT 1,
  CONSTRAINT every_unit_is_somewhere CHECK (free + reserved + sold + written_off = supplied),
  CONSTRAINT retired_has_nothing_left CHECK (listing <> 'retired' OR (free = 0 AND reserved = 0))
) WITH (fillfactor = 70);

-- Changes of units by staff; append-only.
CREATE TABLE stock_changes (
  id       bigint         GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  plant_id safe_id        NOT NULL,
  at       timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  -- Free units added.
  by       bigint         NOT NULL,
  -- Free units after the change.
  free     units          NOT NULL,
  -- Null: the free units were set.
  reason   text,
  -- The order whose units were written off, and how many.
  order_id    safe_id,
  written_off units       NOT NULL DEFAULT 0,
  -- A user's UUID.
  actor    uuid
);
CREATE INDEX stock_changes_by_plant ON stock_changes (plant_id, id DESC);

-- The inventory is a compacted total and the few deltas since: a batch appends a row instead of waiting for one.
CREATE TABLE inventory_total (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  available bigint NOT NULL,
  pending   bigint NOT NULL,
  sold      bigint NOT NULL
);
INSERT INTO inventory_total (available, pending, sold) VALUES (0, 0, 0);

CREATE TABLE inventory_deltas (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  available bigint NOT NULL,
  pending   bigint NOT NULL,
  sold      bigint NOT NULL
);

-- Customers

-- Every user who has ordered. Placing an order locks the row FOR KEY SHARE, closing the customer FOR UPDATE.
CREATE TABLE customers (
  user_id         uuid    PRIMARY KEY,
  closed          boolean NOT NULL DEFAULT false,
  -- The latest attempt to close the customer that was refused because of open orders; older attempts no longer matter.
  refused_attempt bigint  NOT NULL DEFAULT 0
);

-- Orders

-- Assigned ids leave the small ones to clients. Processes draw blocks of 1,000. The bound leaves ids to further stores
-- (docs/decisions/identifiers.md).
CREATE SEQUENCE order_ids START 1000000001 INCREMENT 1000 MAXVALUE 999999999999;

CREATE TABLE orders (
  id              safe_id        PRIMARY KEY,
  -- Null: it was placed alone. No foreign key: the statement that writes an order checks nothing else.
  basket_id       safe_id,
  plant_id        safe_id        NOT NULL,
  quantity        integer        NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
  ship_date       timestamptz,
  status          text           NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'cancelled')),
  -- Stays when the owner's account is deleted.
  owner_id        uuid           NOT NULL,
  version         bigint         NOT NULL,
  -- In milliseconds, the precision of answers, because lists are in the order of (placed_at, id) and a page begins at such a pair.
  -- Later than all orders that were there before, even if the clock was set back.
  placed_at       timestamptz(3) NOT NULL,
  paid_at         timestamptz,
  carrier         text,
  tracking_number text           NOT NULL DEFAULT '',
  -- The transition that the store applies without a request, and when: simulated payment and delivery, expiry.
  due_at          timestamptz,
  due_transition  text           CHECK (due_transition IN ('approve', 'deliver', 'expire')),
  -- The database's clock when due_at was set; null: unknown. In the future: the clock was set back since (checkout/due-orders.repository.ts).
  due_since       timestamptz,
  refund          text           CHECK (refund IN ('due', 'completed')),
  -- When the latest step was taken; null: the order is as it was placed.
  updated_at      timestamptz(3),
  -- What the owner adds; deleted with the owner's account.
  external_id     text,
  metadata        jsonb,
  ship_to         jsonb,
  CONSTRAINT due_is_whole CHECK ((due_at IS NULL) = (due_transition IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX orders_due ON orders (due_at) WHERE due_at IS NOT NULL;
-- Lists read each status from its own part of an index, newest first, only as far as the page needs. The first two also find the
-- open orders of an owner and of a plant.
CREATE INDEX orders_by_owner ON orders (owner_id, status, placed_at DESC, id DESC);
CREATE INDEX orders_by_plant ON orders (plant_id, status, placed_at DESC, id DESC);
CREATE INDEX orders_by_status ON orders (status, placed_at DESC, id DESC);
-- The others have no entries of orders that are placed without options.
CREATE UNIQUE INDEX orders_by_external_id_of_owner ON orders (owner_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX orders_by_external_id ON orders (external_id, placed_at DESC, id DESC) WHERE external_id IS NOT NULL;
CREATE INDEX orders_with_owner_data ON orders (owner_id, id) WHERE external_id IS NOT NULL OR metadata IS NOT NULL OR ship_to IS NOT NULL;
CREATE INDEX orders_by_tracking_number ON orders (tracking_number, placed_at DESC, id DESC) WHERE carrier IS NOT NULL;
CREATE INDEX orders_shipped ON orders (status, placed_at DESC, id DESC) WHERE carrier IS NOT NULL;
CREATE INDEX orders_unshipped ON orders (status, placed_at DESC, id DESC) WHERE carrier IS NULL AND status IN ('approved', 'delivered');
CREATE INDEX orders_by_refund ON orders (refund, placed_at DESC, id DESC) WHERE refund IS NOT NULL;

-- A row per pair of an order's metadata, by which lists find the order. Hashes, since only orders keep what owners add.
CREATE TABLE order_metadata (
  pair      bigint         NOT NULL,
  owner_id  uuid           NOT NULL,
  placed_at timestamptz(3) NOT NULL,
  order_id  safe_id        NOT NULL
);
CREATE INDEX order_metadata_by_pair ON order_metadata (pair, placed_at DESC, order_id DESC);
CREATE INDEX order_metadata_by_owner ON order_metadata (owner_id, pair, placed_at DESC, order_id DESC);

CREATE INDEX orders_by_basket ON orders (basket_id, id) WHERE basket_id IS NOT NULL;

-- Orders that were placed together. A basket has the id of its first order.
CREATE TABLE baskets (
  id          safe_id        PRIMARY KEY,
  owner_id    uuid           NOT NULL,
  external_id text,
  metadata    jsonb,
  placed_at   timestamptz(3) NOT NULL
);
-- Also finds what to erase with a customer.
CREATE UNIQUE INDEX baskets_by_owner ON baskets (owner_id, external_id);
CREATE INDEX baskets_by_external_id ON baskets (external_id) WHERE external_id IS NOT NULL;

-- Due orders whose transition Postgres rejected because of their data. The store skips them until their version changes or an
-- operator retries them (`npm run reconcile`); otherwise every poll would fail on the same oldest orders.
CREATE TABLE orders_set_aside (
  order_id       safe_id     PRIMARY KEY,
  -- The order is skipped while it has this version.
  order_version  bigint      NOT NULL,
  due_transition text        NOT NULL CHECK (due_transition IN ('approve', 'deliver', 'expire')),
  sqlstate       text        NOT NULL,
  -- The violated constraint; empty if the error names none.
  broken         text        NOT NULL,
  at             timestamptz NOT NULL DEFAULT now()
);

-- Payments that a provider reported. One that succeeds too late, or again, is due for refund.
CREATE SEQUENCE refund_ids;
CREATE TABLE payments (
  order_id         safe_id     NOT NULL REFERENCES orders,
  -- The provider's: one reference pays one order, or the orders of one basket, whatever the outcome.
  reference        text        NOT NULL,
  state            text        NOT NULL CHECK (state IN ('accepted', 'failed', 'refund-due', 'refunded')),
  at               timestamptz NOT NULL DEFAULT now(),
  -- Identifies the refund for clients.
  refund_id        bigint,
  refunded_at      timestamptz,
  refund_reference text,
  PRIMARY KEY (reference, order_id),
  CONSTRAINT refunds_have_ids CHECK (state NOT IN ('refund-due', 'refunded') OR refund_id IS NOT NULL),
  CONSTRAINT refunds_are_whole CHECK ((state = 'refunded') = (refunded_at IS NOT NULL) AND (refunded_at IS NULL) = (refund_reference IS NULL))
);
CREATE UNIQUE INDEX refunds_by_id ON payments (refund_id) WHERE refund_id IS NOT NULL;
CREATE INDEX refunds_by_reference ON payments (refund_reference) WHERE refund_reference IS NOT NULL;
CREATE INDEX payments_by_order ON payments (order_id);
CREATE INDEX payments_refund_due ON payments (at) WHERE state = 'refund-due';
CREATE UNIQUE INDEX refunds_by_state ON payments (state, refund_id DESC) WHERE state IN ('refund-due', 'refunded');

-- The timeline of orders and their events, and the events of stock, which have no order; append-only. No foreign key to orders: the statement that writes an order writes the row,
-- and the check would cost every order a look-up.
CREATE TABLE order_transitions (
  order_id        safe_id,
  order_version   bigint,
  -- Null if the step leaves the status as it is, and for a new order.
  previous_status text,
  new_status      text,
  at              timestamptz NOT NULL,
  actor           text,
  reason          text,
  -- The nil UUID for an event of stock.
  owner_id        uuid        NOT NULL,
  -- Of a shipment; null for other steps.
  carrier         text,
  tracking_number text,
  -- Of a step that makes a refund due or completes it.
  refund_id       bigint,
  -- Trace and span of the step (W3C Trace Context), for links from its consequences; null if untraced. Clients never get it.
  traceparent     text,
  -- The order in which events are numbered. Drawn under the lock of the order's row, so it increases with the order's version;
  -- for an event of stock, under that of the stock's row.
  position        bigint      GENERATED ALWAYS AS IDENTITY,
  event_id        uuid,
  -- The event's bytes as every client gets them; null once its feed has dropped it (libs/events).
  body            text,
  -- The event's number in the feed, without gaps; null until it is numbered.
  feed_seq        bigint,
  -- Of the order from this step on; null: not shipped, no refund.
  shipped         boolean,
  refund          text,
  -- Whether order_counts has the step, where its number does not say so: it has no event, or has lost its number since.
  counted         boolean,
  CONSTRAINT order_transitions_by_order UNIQUE (order_id, order_version),
  CONSTRAINT steps_are_whole CHECK (num_nonnulls(order_id, order_version, new_status, actor, reason) IN (0, 5)),
  CONSTRAINT status_changes_have_events CHECK ((previous_status IS NULL OR event_id IS NOT NULL) AND (event_id IS NOT NULL OR body IS NULL)),
  CONSTRAINT unnumbered_have_bodies CHECK (feed_seq IS NOT NULL OR event_id IS NULL OR body IS NOT NULL)
);
-- Partial, so that a row has an entry in one of the two.
CREATE INDEX order_transitions_unnumbered ON order_transitions (position) WHERE feed_seq IS NULL AND event_id IS NOT NULL;
CREATE UNIQUE INDEX order_transitions_numbered ON order_transitions (feed_seq) WHERE feed_seq IS NOT NULL;
CREATE INDEX order_transitions_uncounted ON order_transitions (order_id) WHERE event_id IS NULL AND counted IS NULL;

-- What staff note on orders, between the steps of their timelines.
CREATE TABLE order_notes (
  -- Drawn under the lock of the order's row, so it increases with the order's notes.
  id            bigint      GENERATED ALWAYS AS IDENTITY,
  order_id      safe_id     NOT NULL,
  -- The order's when the note was made, and its status.
  order_version bigint      NOT NULL,
  status        text        NOT NULL,
  at            timestamptz NOT NULL,
  -- A user's UUID.
  actor         uuid        NOT NULL,
  -- The order's when the note was made, who may be mentioned: notes are deleted with that user's account.
  owner_id      uuid        NOT NULL,
  text          text        NOT NULL,
  PRIMARY KEY (order_id, order_version, id)
);
CREATE INDEX order_notes_by_owner ON order_notes (owner_id);

-- The number of orders in each state, as of the steps that are counted (orders/order-counts.ts).
CREATE TABLE order_counts (
  -- `all`, a plant's id or an owner's UUID.
  scope   text    NOT NULL,
  status  text    NOT NULL,
  shipped boolean NOT NULL,
  refund  text    NOT NULL CHECK (refund IN ('none', 'due', 'completed')),
  orders  bigint  NOT NULL,
  PRIMARY KEY (scope, status, shipped, refund)
) WITH (fillfactor = 70);
CREATE TABLE order_counts_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Steps with events up to this number are counted.
  counted  bigint  NOT NULL DEFAULT 0
);
INSERT INTO order_counts_head DEFAULT VALUES;

-- The feed of order events (libs/events)

CREATE TABLE feed_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  epoch    uuid    NOT NULL DEFAULT gen_random_uuid(),
  head     bigint  NOT NULL DEFAULT 0,
  -- The WAL timeline on which numbers were last assigned. A failover changes it, and the feed begins a new epoch.
  timeline text    NOT NULL DEFAULT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8),
  -- When the latest order was placed that its own transaction numbered. If it is in the future, the clock was set back.
  placed_at timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO feed_head DEFAULT VALUES;

-- Numbers between the two belong to a history that was lost when the database was restored from a backup.
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

CREATE TABLE feed_kept (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Events from this number on have their bodies.
  oldest   bigint  NOT NULL DEFAULT 1
);
INSERT INTO feed_kept DEFAULT VALUES;

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

-- Actions of staff and operators, written in the transaction of their effect (libs/platform/src/patterns/audit-log.ts). Append-only: the
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
