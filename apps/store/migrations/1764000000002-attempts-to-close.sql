-- The latest attempt to close the customer that was refused for open orders; older ones decide nothing any more.
ALTER TABLE customers ADD COLUMN refused_attempt bigint NOT NULL DEFAULT 0;
