-- Reads the whole table without stopping anybody.
ALTER TABLE order_transitions VALIDATE CONSTRAINT status_changes_have_events;
