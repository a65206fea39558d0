-- The OAuth client that took the step, or made the note, for the actor; null: the actor used another credential.
ALTER TABLE order_transitions ADD COLUMN client_id text;
ALTER TABLE order_notes ADD COLUMN client_id text;
