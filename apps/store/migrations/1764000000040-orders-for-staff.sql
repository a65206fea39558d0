-- Of a shipment; null at other steps.
ALTER TABLE order_transitions ADD COLUMN carrier text, ADD COLUMN tracking_number text;
