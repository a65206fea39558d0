-- A random id beside the position. A log restored from a backup gives the positions that it lost to other entries; followers
-- detect that by the id.
ALTER TABLE revocations ADD COLUMN entry_id uuid;
ALTER TABLE revocations ALTER COLUMN entry_id SET DEFAULT gen_random_uuid();
UPDATE revocations SET entry_id = gen_random_uuid() WHERE entry_id IS NULL;
