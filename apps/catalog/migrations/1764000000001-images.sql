-- Images of plants. An upload and the image it becomes are one row with one id.

CREATE TABLE images (
  id           uuid        PRIMARY KEY,
  -- NULL: the plant was deleted; the row and its content are swept.
  incarnation  safe_id     REFERENCES plants (incarnation) ON DELETE SET NULL,
  -- uploading: takes chunks; sealed: its content is final and being hashed; attached: an image of the plant.
  state        text        NOT NULL CHECK (state IN ('uploading', 'sealed', 'attached')),
  begun_at     timestamptz NOT NULL DEFAULT now(),
  -- Length of each chunk, in order.
  chunk_bytes  integer[]   NOT NULL DEFAULT '{}',
  -- NULL while not attached. A content type is that of a recognised picture, or application/octet-stream.
  content_type text,
  sha256       text        CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  CONSTRAINT attached_is_whole CHECK (
    (state = 'attached') = (content_type IS NOT NULL) AND (content_type IS NULL) = (sha256 IS NULL)
  )
);
CREATE INDEX images_of_plant ON images (incarnation);
CREATE INDEX images_unattached ON images (begun_at) WHERE state <> 'attached';

-- The content, where Postgres is the image store.
CREATE TABLE image_chunks (
  image_id uuid    NOT NULL REFERENCES images ON DELETE CASCADE,
  index    integer NOT NULL CHECK (index >= 0),
  data     bytea   NOT NULL CHECK (octet_length(data) <= 262144),
  PRIMARY KEY (image_id, index)
);
-- Pictures are compressed already: trying again costs CPU and gains nothing.
ALTER TABLE image_chunks ALTER COLUMN data SET STORAGE EXTERNAL;
