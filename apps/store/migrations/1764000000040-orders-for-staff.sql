-- Of a shipment; null for other transitions.
ALTER TABLE order_transitions ADD COLUMN carrier text, ADD COLUMN tracking_number text;
