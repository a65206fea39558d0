-- Due orders whose transition Postgres rejected because of their data. Skipped until their version changes or an operator
-- retries them (`npm run reconcile`). Without this table the same oldest orders were tried for ever, and no other order
-- expired, was approved or was delivered.
CREATE TABLE orders_set_aside (
  order_id      safe_id     PRIMARY KEY,
  -- The order is skipped while it has this version.
  order_version bigint      NOT NULL,
  due_move      text        NOT NULL CHECK (due_move IN ('approve', 'deliver', 'expire')),
  sqlstate      text        NOT NULL,
  -- The violated constraint; empty if the error names none.
  broken        text        NOT NULL,
  at            timestamptz NOT NULL DEFAULT now()
);
