-- Reads the whole table without stopping anybody.
ALTER TABLE order_transitions VALIDATE CONSTRAINT moves_have_event_ids, VALIDATE CONSTRAINT unnumbered_have_bodies;
