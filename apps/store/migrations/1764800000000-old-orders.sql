-- Orders that no longer change, and their steps (orders/order-archive.ts). Children of the tables that they leave, so every statement that
-- does not say ONLY reads and changes them too, also of earlier releases. They get the columns that are added to their parents, but no indexes.

-- The constraint does not see orders in old_orders. No release relies on it: payments are written under the order's lock. Locked in the order in
-- which reports of payments lock.
LOCK TABLE orders, payments IN ACCESS EXCLUSIVE MODE;
ALTER TABLE payments DROP CONSTRAINT payments_order_id_fkey;

CREATE TABLE old_orders (
  CONSTRAINT old_orders_are_final CHECK (status IN ('delivered', 'cancelled')),
  CONSTRAINT old_orders_await_nothing CHECK (due_at IS NULL)
) INHERITS (orders);
ALTER TABLE old_orders ADD PRIMARY KEY (id);
CREATE INDEX old_orders_by_owner ON old_orders (owner_id, status, placed_at, id);
CREATE INDEX old_orders_by_plant ON old_orders (plant_id, status, placed_at, id);
CREATE INDEX old_orders_by_status ON old_orders (status, placed_at, id);
CREATE UNIQUE INDEX old_orders_by_external_id_of_owner ON old_orders (owner_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX old_orders_by_external_id ON old_orders (external_id, placed_at DESC, id DESC) WHERE external_id IS NOT NULL;
CREATE INDEX old_orders_with_owner_data ON old_orders (owner_id, id) WHERE external_id IS NOT NULL OR metadata IS NOT NULL OR ship_to IS NOT NULL;
CREATE INDEX old_orders_by_tracking_number ON old_orders (tracking_number, placed_at DESC, id DESC) WHERE carrier IS NOT NULL;
CREATE INDEX old_orders_shipped ON old_orders (status, placed_at DESC, id DESC) WHERE carrier IS NOT NULL;
CREATE INDEX old_orders_unshipped ON old_orders (status, placed_at DESC, id DESC) WHERE carrier IS NULL AND status IN ('approved', 'delivered');
CREATE INDEX old_orders_by_refund ON old_orders (refund, placed_at DESC, id DESC) WHERE refund IS NOT NULL;
CREATE INDEX old_orders_by_basket ON old_orders (basket_id, id) WHERE basket_id IS NOT NULL;

CREATE TABLE old_order_steps (
  CONSTRAINT old_steps_are_read CHECK (body IS NULL),
  CONSTRAINT old_steps_are_numbered CHECK (event_id IS NULL OR feed_seq IS NOT NULL),
  CONSTRAINT old_steps_are_counted CHECK (event_id IS NOT NULL OR counted IS NOT NULL)
) INHERITS (order_transitions);
CREATE UNIQUE INDEX old_order_steps_by_order ON old_order_steps (order_id, order_version);
CREATE UNIQUE INDEX old_order_steps_numbered ON old_order_steps (feed_seq) WHERE feed_seq IS NOT NULL;
