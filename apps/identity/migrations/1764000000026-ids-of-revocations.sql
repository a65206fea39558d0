-- A random id beside the position: a log that was restored from a backup gives the positions that it lost to other entries, and a
-- follower must see the difference.
ALTER TABLE revocations ADD COLUMN entry_id uuid;
ALTER TABLE revocations ALTER COLUMN entry_id SET DEFAULT gen_random_uuid();
UPDATE revocations SET entry_id = gen_random_uuid() WHERE entry_id IS NULL;
