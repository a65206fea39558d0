-- The store's tables. Identifiers and versions are bigint bounded to what JavaScript counts exactly.

CREATE DOMAIN safe_id AS bigint CHECK (VALUE BETWEEN 1 AND 9007199254740991);
CREATE DOMAIN units AS bigint CHECK (VALUE >= 0);

-- One row per plant id that the catalog ever told of. `incarnation` and `listing_version` only go up: a late or repeated
-- call of the catalog changes nothing. A retired row stays as a tombstone.
CREATE TABLE stock (
  plant_id        safe_id PRIMARY KEY,
  -- 0 where only the id is known: nothing was opened yet.
  incarnation     bigint  NOT NULL,
  listing         text    NOT NULL CHECK (listing IN ('available', 'pending', 'sold', 'retired')),
  listing_version bigint  NOT NULL,
  free            units   NOT NULL,
  reserved        units   NOT NULL DEFAULT 0,
  sold            units   NOT NULL DEFAULT 0,
  -- What was ever put in, less what was taken out again by staff or by retiring.
  supplied        units   NOT NULL,
  -- The latest attempt to retire the plant that was refused for open orders; older ones decide nothing any more.
  refused_attempt bigint  NOT NULL DEFAULT 0,
  version         bigint  NOT NULL DEFAULT 1,
  CONSTRAINT every_unit_is_somewhere CHECK (free + reserved + sold = supplied),
  CONSTRAINT retired_has_nothing_left CHECK (listing <> 'retired' OR (free = 0 AND reserved = 0))
) WITH (fillfactor = 70);

-- The inventory is a folded total and the few deltas that came since: a batch appends one row instead of queueing for one.
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

-- Who has ordered here, as the lock between placing (FOR KEY SHARE) and closing (FOR UPDATE).
CREATE TABLE customers (
  user_id uuid    PRIMARY KEY,
  closed  boolean NOT NULL DEFAULT false
);

-- Assigned ids leave the small ones to clients. Processes take them in blocks of 1,000.
CREATE SEQUENCE order_ids START 1000000001 INCREMENT 1000 MAXVALUE 9007199254740991;

CREATE TABLE orders (
  id              safe_id     PRIMARY KEY,
  -- Lists are paged by it: it only goes up, whatever ids clients choose.
  position        bigint      GENERATED ALWAYS AS IDENTITY,
  plant_id        safe_id     NOT NULL,
  quantity        integer     NOT NULL CHECK (quantity BETWEEN 1 AND 1000000),
  ship_date       timestamptz,
  status          text        NOT NULL CHECK (status IN ('placed', 'approved', 'delivered', 'cancelled')),
  -- Kept after the owner's account is gone: a UUID that leads nowhere any more.
  owner_id        uuid        NOT NULL,
  version         bigint      NOT NULL DEFAULT 1,
  placed_at       timestamptz NOT NULL DEFAULT now(),
  paid_at         timestamptz,
  carrier         text,
  tracking_number text        NOT NULL DEFAULT '',
  -- What happens by itself, and when: simulated payment and delivery, expiry.
  due_at          timestamptz,
  due_move        text        CHECK (due_move IN ('approve', 'deliver', 'expire')),
  CONSTRAINT due_is_whole CHECK ((due_at IS NULL) = (due_move IS NULL))
) WITH (fillfactor = 80);

CREATE INDEX orders_due ON orders (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX orders_open_of_plant ON orders (plant_id) WHERE status IN ('placed', 'approved');
CREATE INDEX orders_of_owner ON orders (owner_id, position DESC);
CREATE INDEX orders_open_of_owner ON orders (owner_id) WHERE status IN ('placed', 'approved');

-- What the payment provider reported. A success that came too late or twice is owed back.
CREATE TABLE payments (
  order_id   safe_id     NOT NULL REFERENCES orders,
  reference  text        NOT NULL,
  state      text        NOT NULL CHECK (state IN ('accepted', 'failed', 'refund-due')),
  at         timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (order_id, reference)
);
CREATE INDEX payments_refund_due ON payments (at) WHERE state = 'refund-due';

-- Timeline and outbox in one, append-only. `position` is drawn after the order's row was locked, so per order it goes up;
-- `feed_seq` is the dense number that followers count by, given later by one replica at a time. A row without a previous
-- status (the placing) is timeline only.
-- No foreign key to orders: rows are only written by the statement that writes the order, and the check would cost every
-- order a look-up.
CREATE TABLE order_transitions (
  position        bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  order_id        safe_id     NOT NULL,
  order_version   bigint      NOT NULL,
  previous_status text,
  new_status      text        NOT NULL,
  at              timestamptz NOT NULL,
  actor           text        NOT NULL,
  reason          text        NOT NULL,
  owner_id        uuid        NOT NULL,
  event_id        uuid,
  -- The event's bytes as every client will get them, serialised once.
  body            text,
  feed_seq        bigint      UNIQUE,
  CONSTRAINT one_row_per_version UNIQUE (order_id, order_version),
  CONSTRAINT moves_have_events CHECK ((previous_status IS NULL) = (event_id IS NULL) AND (event_id IS NULL) = (body IS NULL))
);
CREATE INDEX order_transitions_unnumbered ON order_transitions (position)
  WHERE feed_seq IS NULL AND event_id IS NOT NULL;
