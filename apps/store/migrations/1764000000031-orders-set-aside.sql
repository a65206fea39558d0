-- Orders that Postgres refused to move for what their own rows hold. They are passed over until their version changes or an
-- operator takes them up again (`npm run reconcile`): without it the same oldest orders were tried for ever, and no other
-- order expired, was approved or was delivered.
CREATE TABLE orders_set_aside (
  order_id      safe_id     PRIMARY KEY,
  -- The order is passed over as long as it has this version.
  order_version bigint      NOT NULL,
  due_move      text        NOT NULL CHECK (due_move IN ('approve', 'deliver', 'expire')),
  sqlstate      text        NOT NULL,
  -- Empty: the error names no constraint.
  broken        text        NOT NULL,
  at            timestamptz NOT NULL DEFAULT now()
);
