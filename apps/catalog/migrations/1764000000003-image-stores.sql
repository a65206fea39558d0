-- The content of images may be in a bucket instead of image_chunks. Each image keeps the store that it was begun in, so
-- that the setting can be changed while there are images, also one replica after the other.
--
-- No transaction spans both, so what is swept is discarded first and removed later: a chunk that was on its way to the
-- bucket then has arrived, or never will, and the row goes last since it is what knows of the content.
ALTER TABLE images
  ADD COLUMN store text NOT NULL DEFAULT 'postgres' CHECK (store IN ('postgres', 's3')),
  -- Set: discarded; it takes no more chunks, and from then on its content may be removed. Whoever removes it moves this on.
  ADD COLUMN remove_at timestamptz,
  ADD CONSTRAINT what_is_shown_stays CHECK (remove_at IS NULL OR state <> 'attached' OR incarnation IS NULL),
  -- Any part of an image can be found by its position.
  ADD CONSTRAINT chunks_but_the_last_are_full CHECK (262144 = ALL (chunk_bytes[:cardinality(chunk_bytes) - 1]));
CREATE INDEX images_discarded ON images (remove_at) WHERE remove_at IS NOT NULL;
