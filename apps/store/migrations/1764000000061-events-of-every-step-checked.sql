-- Reads the whole table, but blocks neither reads nor writes.
ALTER TABLE order_transitions VALIDATE CONSTRAINT status_changes_have_events;
