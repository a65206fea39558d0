-- What clients filter events by, read from the body by the database itself: libs/events, which writes the rows, knows
-- nothing of orders. Null where the body does not say.
ALTER TABLE event_log
  ADD COLUMN order_id   bigint GENERATED ALWAYS AS ((body::jsonb #>> '{data,orderId}')::bigint) STORED,
  ADD COLUMN plant_id   bigint GENERATED ALWAYS AS ((body::jsonb #>> '{data,plantId}')::bigint) STORED,
  ADD COLUMN new_status text   GENERATED ALWAYS AS (body::jsonb #>> '{data,newStatus}') STORED;
