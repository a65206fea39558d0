-- Since when a plant that began without units waits for somebody to count them. Null: somebody has.
ALTER TABLE stock ADD COLUMN uncounted_since timestamptz(3);
