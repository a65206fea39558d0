-- A payment to be returned is a refund: first due (`refund-due`), then completed (`refunded`). Clients identify it by refund_id.
ALTER TABLE orders ADD COLUMN refund text CHECK (refund IN ('due', 'completed'));
ALTER TABLE order_transitions ADD COLUMN refund_id bigint;
CREATE SEQUENCE refund_ids;
ALTER TABLE payments
  ADD COLUMN refund_id        bigint,
  ADD COLUMN refunded_at      timestamptz,
  ADD COLUMN refund_reference text,
  DROP CONSTRAINT payments_state_check,
  ADD CONSTRAINT payments_state_check CHECK (state IN ('accepted', 'failed', 'refund-due', 'refunded')) NOT VALID,
  ADD CONSTRAINT refunds_are_whole CHECK ((state = 'refunded') = (refunded_at IS NOT NULL) AND (refunded_at IS NULL) = (refund_reference IS NULL)) NOT VALID;
-- Every payment gets an id, because payments that the previous release writes need one, too.
ALTER TABLE payments ALTER COLUMN refund_id SET DEFAULT nextval('refund_ids');
UPDATE payments SET refund_id = nextval('refund_ids') WHERE state = 'refund-due';
UPDATE orders SET refund = 'due' WHERE id IN (SELECT order_id FROM payments WHERE state = 'refund-due');
