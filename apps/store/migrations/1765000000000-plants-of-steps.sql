-- The order's plant, which never changes, so that steps are counted without looking up their orders. Null: an earlier release wrote the step.
ALTER TABLE order_transitions ADD COLUMN plant_id bigint;
