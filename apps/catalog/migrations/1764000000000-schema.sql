-- The catalog's schema. Identifiers and versions are bigint, bounded to the integers that JavaScript represents exactly.

CREATE DOMAIN safe_id AS bigint CHECK (VALUE BETWEEN 1 AND 9007199254740991);

-- Plants

-- Assigned ids leave the small ones to clients.
CREATE SEQUENCE plant_ids START 1000000001 MAXVALUE 9007199254740991;

-- One sequence for all versions of all plants; a plant's incarnation is the version it was created with. So both only increase, also
-- for an id that was used before, and no version (an entity tag, for clients) ever comes back.
CREATE SEQUENCE plant_versions MAXVALUE 9007199254740991;

CREATE TABLE plants (
  id          safe_id     PRIMARY KEY,
  -- In order of creation. Lists are paged by it, newest first.
  incarnation safe_id     NOT NULL UNIQUE,
  version     safe_id     NOT NULL,
  name        text        NOT NULL,
  -- {id?, name?} as given, with the id filled in; null: the plant has none.
  category    jsonb,
  photo_urls  text[]      NOT NULL,
  -- [{id, name}] in the order given.
  tags        jsonb       NOT NULL,
  status      text        NOT NULL CHECK (status IN ('available', 'pending', 'sold')),
  external_id text,
  -- {key: text}; null: the plant has none.
  metadata    jsonb,
  -- What a search finds the plant by (apps/catalog/src/words.ts): distinct words of the name, and further ones of tags and category.
  name_words  text[]      NOT NULL,
  label_words text[]      NOT NULL,
  -- Length of the plant as JSON in UTF-8, so that a page can end by size before the database sends it.
  bytes       integer     NOT NULL CHECK (bytes > 0),
  created_at  timestamptz NOT NULL DEFAULT now(),
  updated_at  timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT versions_go_up CHECK (version >= incarnation),
  CONSTRAINT at_most_64_photos CHECK (cardinality(photo_urls) <= 64)
);
CREATE INDEX plants_by_status ON plants (status, incarnation);
CREATE INDEX plants_by_name ON plants (lower(name) COLLATE "C", incarnation);
CREATE UNIQUE INDEX external_id_taken ON plants (external_id) WHERE external_id IS NOT NULL;
CREATE INDEX plants_by_category ON plants ((category ->> 'name'), incarnation);

-- Each name that a plant is tagged with, once.
-- Rejected: plants.tag_names text[] under a GIN index. It knows no order, so Postgres either sorts all plants with a tag or
-- walks the list until it has found enough of them. The newest 20 of 1,000,000 plants (Postgres 15, warm): 130 ms sorted for
-- a tag that every second one has, 260 ms walked for a tag that ten have. With this table: 1 ms for either.
CREATE TABLE plant_tags (
  name        text    NOT NULL,
  incarnation safe_id NOT NULL REFERENCES plants (incarnation) ON DELETE CASCADE,
  PRIMARY KEY (name, incarnation)
);
CREATE INDEX plant_tags_of_plant ON plant_tags (incarnation);

-- Each pair of metadata that a plant has, as a hash (apps/catalog/src/plants/plant.ts): a key and a value together may be too long for an
-- index. A table for the same reason as that of tags.
CREATE TABLE plant_metadata (
  pair        text    COLLATE "C" NOT NULL,
  incarnation safe_id NOT NULL REFERENCES plants (incarnation) ON DELETE CASCADE,
  PRIMARY KEY (pair, incarnation)
);
CREATE INDEX plant_metadata_of_plant ON plant_metadata (incarnation);

-- Ids of tags and categories that come without one: a name keeps its id. They are never keys.
CREATE SEQUENCE label_ids START 1000000001 MAXVALUE 9007199254740991;
CREATE TABLE labels (
  kind text    NOT NULL CHECK (kind IN ('category', 'tag')),
  name text    NOT NULL,
  id   safe_id NOT NULL DEFAULT nextval('label_ids'),
  PRIMARY KEY (kind, name)
);

-- What the store does not know of a plant yet; no row: it knows everything. Written in the transaction of the change and deleted once the
-- store has answered; meanwhile a background loop retries.
CREATE TABLE stock_intents (
  incarnation    safe_id     PRIMARY KEY REFERENCES plants (incarnation) ON DELETE CASCADE,
  -- Whether the store has yet to confirm openStock, and the units that it carries (null: the store's initial stock).
  opens          boolean     NOT NULL DEFAULT false,
  units          bigint      CHECK (units >= 0),
  -- The version whose status listStock has yet to report.
  lists_version  safe_id,
  -- The latest attempt to retire the plant's stock; set: the plant is being deleted.
  retire_attempt safe_id,
  -- Who requested the deletion, for the audit entry, since it may complete after the request: an actor (libs/platform/src/patterns/audit-log.ts) as JSON.
  asked_by       jsonb,
  tries          integer     NOT NULL DEFAULT 0,
  -- Until then, the request that wrote the row or a loop that took it is at work.
  next_try_at    timestamptz NOT NULL,
  CONSTRAINT says_something CHECK (opens OR lists_version IS NOT NULL OR retire_attempt IS NOT NULL)
);
CREATE INDEX stock_intents_due ON stock_intents (next_try_at);

-- Numbers attempts to retire: the store refuses one that is older than one it has decided.
CREATE SEQUENCE retire_attempts MAXVALUE 9007199254740991;

-- Images

-- An upload and the image that it becomes are one row with one id.
CREATE TABLE images (
  id           uuid        PRIMARY KEY,
  -- Null: the plant was deleted; the sweeper removes the row and its content.
  incarnation  safe_id     REFERENCES plants (incarnation) ON DELETE SET NULL,
  -- uploading: takes chunks; sealed: its content is final and being hashed; attached: an image of the plant.
  state        text        NOT NULL CHECK (state IN ('uploading', 'sealed', 'attached')),
  begun_at     timestamptz NOT NULL DEFAULT now(),
  -- Length of each chunk, in order.
  chunk_bytes  integer[]   NOT NULL DEFAULT '{}',
  -- Null while not attached. A content type is that of a recognised picture, or application/octet-stream.
  content_type text,
  sha256       text        CHECK (sha256 ~ '^[0-9a-f]{64}$'),
  -- Where its content is: the store in which it was begun, whatever the setting is now.
  store        text        NOT NULL DEFAULT 'postgres' CHECK (store IN ('postgres', 's3')),
  -- Set: discarded. It takes no more chunks, and its content is removed from then on. No transaction spans database and bucket, so
  -- discarding and removing are two steps: a chunk on its way to the bucket has then arrived, or never will, and the row, which knows
  -- of the content, goes last.
  remove_at    timestamptz,
  CONSTRAINT attached_is_whole CHECK (
    (state = 'attached') = (content_type IS NOT NULL) AND (content_type IS NULL) = (sha256 IS NULL)
  ),
  CONSTRAINT what_is_shown_stays CHECK (remove_at IS NULL OR state <> 'attached' OR incarnation IS NULL),
  -- Any part of an image can be found by its position.
  CONSTRAINT chunks_but_the_last_are_full CHECK (262144 = ALL (chunk_bytes[:cardinality(chunk_bytes) - 1]))
);
CREATE INDEX images_of_plant ON images (incarnation);
CREATE INDEX images_unattached ON images (begun_at) WHERE state <> 'attached';
CREATE INDEX images_discarded ON images (remove_at) WHERE remove_at IS NOT NULL;

-- The content of images whose store is Postgres.
CREATE TABLE image_chunks (
  image_id uuid    NOT NULL REFERENCES images ON DELETE CASCADE,
  index    integer NOT NULL CHECK (index >= 0),
  data     bytea   NOT NULL CHECK (octet_length(data) <= 262144),
  PRIMARY KEY (image_id, index)
);
-- Pictures are already compressed: another attempt costs CPU and gains nothing.
ALTER TABLE image_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

-- Caches

-- Stamps validate caches of the catalogue (docs/decisions/cached-reads.md). The catalogue has 16 parts by plant id, and every
-- transaction that changes a plant of the part replaces its stamp. So data read under a stamp is exact while the stamp stays.
--
-- Random, not a counter: after a restore a counter would repeat values for other data. A stamp restored from a backup stands
-- for exactly the plants restored with it.
CREATE TABLE catalogue_stamps (
  part  integer PRIMARY KEY CHECK (part BETWEEN 0 AND 15),
  stamp uuid    NOT NULL DEFAULT gen_random_uuid()
) WITH (fillfactor = 10);
INSERT INTO catalogue_stamps (part) SELECT generate_series(0, 15);

-- Replaces a stamp once per transaction: otherwise a transaction that changes many plants would leave as many dead versions of
-- the row.
CREATE FUNCTION draw_catalogue_stamp() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  own_part integer := coalesce(NEW.id, OLD.id) & 15;
  drawn    integer := coalesce(nullif(current_setting('catalogue.drawn', true), '')::integer, 0);
BEGIN
  IF drawn & (1 << own_part) = 0 THEN
    UPDATE catalogue_stamps SET stamp = gen_random_uuid() WHERE part = own_part;
    PERFORM set_config('catalogue.drawn', (drawn | (1 << own_part))::text, true);
  END IF;
  RETURN NULL;
END $$;

-- Deferred: the stamp's lock is the last one that a transaction takes, and it is held only during the commit. Tags and
-- photographs are never written without their plant, whose id never changes.
CREATE CONSTRAINT TRIGGER plants_draw_stamp AFTER INSERT OR UPDATE OR DELETE ON plants
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION draw_catalogue_stamp();

-- Changes

-- The latest change of each plant, and of deleted ones. A step numbers changes after their commits, so numbers follow commits: those that a
-- reader sees are followed by higher ones only.
CREATE TABLE plant_changes (
  plant_id   safe_id PRIMARY KEY,
  -- The plant's; drawn for a deletion. Changes of one step are in this order.
  version    safe_id NOT NULL,
  -- Null: not numbered yet.
  number     safe_id UNIQUE,
  -- Whether the plant was deleted.
  is_deleted boolean NOT NULL
);
CREATE INDEX plant_changes_unnumbered ON plant_changes (version) WHERE number IS NULL;
CREATE INDEX plant_changes_deleted ON plant_changes (number) WHERE is_deleted;

-- The last number of each step, and a random token that tells the histories of a restored database apart, since they repeat numbers.
CREATE TABLE plant_change_steps (
  last        bigint      PRIMARY KEY,
  token       uuid        NOT NULL DEFAULT gen_random_uuid(),
  numbered_at timestamptz NOT NULL DEFAULT now()
);
INSERT INTO plant_change_steps (last) VALUES (0);

CREATE FUNCTION record_plant_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    INSERT INTO plant_changes (plant_id, version, is_deleted) SELECT id, nextval('plant_versions'), true FROM old_plants ORDER BY id
    ON CONFLICT (plant_id) DO UPDATE SET version = excluded.version, number = NULL, is_deleted = true;
  ELSE
    INSERT INTO plant_changes (plant_id, version, is_deleted) SELECT id, version, false FROM new_plants ORDER BY id
    ON CONFLICT (plant_id) DO UPDATE SET version = excluded.version, number = NULL, is_deleted = false;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER plants_record_inserted AFTER INSERT ON plants
  REFERENCING NEW TABLE AS new_plants FOR EACH STATEMENT EXECUTE FUNCTION record_plant_changes();
CREATE TRIGGER plants_record_updated AFTER UPDATE ON plants
  REFERENCING NEW TABLE AS new_plants FOR EACH STATEMENT EXECUTE FUNCTION record_plant_changes();
CREATE TRIGGER plants_record_deleted AFTER DELETE ON plants
  REFERENCING OLD TABLE AS old_plants FOR EACH STATEMENT EXECUTE FUNCTION record_plant_changes();

-- Search

-- Search: the plants with a word, newest first (docs/decisions/search.md).
--
-- Rejected: a tsvector with a GIN index. It reads all plants with a word, unordered, before it returns the first one. A word
-- of every second of 1,000,000 plants then costs as much as reading those plants. With this table a page reads a bounded
-- number of index entries, regardless of the size of the catalogue.
CREATE TABLE plant_words (
  word        text    COLLATE "C" NOT NULL,
  -- No foreign key: the triggers below write and delete these rows with their plant, and checking each would double the cost.
  incarnation safe_id NOT NULL,
  -- Whether the word is in the plant's name, not only in its tags or category.
  in_name     boolean NOT NULL,
  PRIMARY KEY (word, incarnation)
);

-- The vocabulary for typo tolerance: words of the letters a to z that plants have or had. Others have no typical spelling, or no trigrams.
CREATE TABLE search_words (word text COLLATE "C" PRIMARY KEY);

-- Postgres would estimate 100 rows instead of a few.
CREATE FUNCTION rows_of_words(name_words text[], label_words text[]) RETURNS TABLE (word text, in_name boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 8 AS $$
  SELECT unnest(name_words), true UNION ALL SELECT unnest(label_words), false
$$;

-- Sorted: two transactions that add the same words in different orders would deadlock.
CREATE FUNCTION unknown_words(words text[]) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  SELECT DISTINCT used.word FROM unnest(words) AS used (word)
  WHERE used.word COLLATE "C" ~ '^[a-z]{3,}$' AND NOT EXISTS (SELECT FROM search_words AS known WHERE known.word = used.word COLLATE "C")
  ORDER BY used.word
$$;

-- Conflicts come from plants removed by TRUNCATE, which does not run these triggers and so leaves their words. The settings make
-- Postgres find the words of changed plants by the index: by a scan of plant_words, 256 plants of 200,000 took 1,040 ms instead of 310 ms.
CREATE FUNCTION index_plant_words() RETURNS trigger LANGUAGE plpgsql
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM plant_words USING old_plants AS earlier, rows_of_words(earlier.name_words, earlier.label_words) AS gone
      WHERE plant_words.word = gone.word AND plant_words.incarnation = earlier.incarnation;
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    DELETE FROM plant_words USING old_plants AS earlier JOIN new_plants AS later USING (incarnation), rows_of_words(earlier.name_words, earlier.label_words) AS gone
      WHERE (earlier.name_words, earlier.label_words) IS DISTINCT FROM (later.name_words, later.label_words)
        AND plant_words.word = gone.word AND plant_words.incarnation = earlier.incarnation;
    WITH added AS (
      INSERT INTO plant_words (word, incarnation, in_name)
      SELECT own.word, later.incarnation, own.in_name
      FROM old_plants AS earlier JOIN new_plants AS later USING (incarnation), rows_of_words(later.name_words, later.label_words) AS own
      WHERE (earlier.name_words, earlier.label_words) IS DISTINCT FROM (later.name_words, later.label_words)
      ON CONFLICT (word, incarnation) DO UPDATE SET in_name = excluded.in_name RETURNING word
    )
    INSERT INTO search_words SELECT word FROM unknown_words((SELECT array_agg(word) FROM added)) AS word ON CONFLICT DO NOTHING;
    RETURN NULL;
  END IF;
  WITH added AS (
    INSERT INTO plant_words (word, incarnation, in_name)
    SELECT own.word, later.incarnation, own.in_name FROM new_plants AS later, rows_of_words(later.name_words, later.label_words) AS own
    ON CONFLICT (word, incarnation) DO UPDATE SET in_name = excluded.in_name RETURNING word
  )
  INSERT INTO search_words SELECT word FROM unknown_words((SELECT array_agg(word) FROM added)) AS word ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE TRIGGER plants_index_inserted AFTER INSERT ON plants
  REFERENCING NEW TABLE AS new_plants FOR EACH STATEMENT EXECUTE FUNCTION index_plant_words();
CREATE TRIGGER plants_index_updated AFTER UPDATE ON plants
  REFERENCING OLD TABLE AS old_plants NEW TABLE AS new_plants FOR EACH STATEMENT EXECUTE FUNCTION index_plant_words();
CREATE TRIGGER plants_index_deleted AFTER DELETE ON plants
  REFERENCING OLD TABLE AS old_plants FOR EACH STATEMENT EXECUTE FUNCTION index_plant_words();

-- Typo tolerance. Search works without it if the server lacks the extension or this role may not create it.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX search_words_by_trigram ON search_words USING gin (word gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
  RAISE NOTICE 'no pg_trgm: search will not find words that are spelled wrongly';
END $$;

-- Exports

-- Snapshots that a replica holds open for an export (pg_export_snapshot); any replica can read with them. The holder releases
-- a snapshot when its row is deleted or has not been used for a while.
CREATE TABLE plant_exports (
  snapshot text        PRIMARY KEY,
  used_at  timestamptz NOT NULL DEFAULT now()
);

-- What every service has (libs/platform)

-- Whether the database belongs to a sandbox (SANDBOX); services with another setting refuse it.
CREATE TABLE database_mode (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  sandbox  boolean NOT NULL
);
INSERT INTO database_mode (sandbox) VALUES (coalesce(current_setting('shop.sandbox', true), 'false')::boolean);

-- Saved answers of requests with an Idempotency-Key: a hash of the key, a fingerprint of the request keyed by it, and the
-- answer encrypted under it.
CREATE TABLE idempotency_keys (
  hash        bytea       PRIMARY KEY CHECK (octet_length(hash) = 32),
  fingerprint bytea       NOT NULL CHECK (octet_length(fingerprint) = 32),
  answer      bytea       NOT NULL,
  expires_at  timestamptz NOT NULL
);
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);

-- Actions of staff and operators, written in the transaction of their effect (libs/platform/src/patterns/audit-log.ts). Append-only: the
-- service's own role may only INSERT and SELECT here, and triggers also stop mistakes of the owner. The owner deletes entries
-- older than 400 days with each migration.
CREATE TABLE audit_log (
  id          bigint         GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- In milliseconds, the precision of answers, because pages begin and end at a time.
  at          timestamptz(3) NOT NULL DEFAULT clock_timestamp(),
  operation   text           NOT NULL,
  request_id  text           NOT NULL,
  -- A user's UUID; null for an operator's command.
  subject     text,
  -- The subject's credentials that were presented, as <kind>:<id>.
  credentials text[]         NOT NULL,
  -- Valid credentials of other users that the request carried, too, as JSON: [{kind, id, subject}]. Null: none.
  other_credentials jsonb,
  target      text           NOT NULL
);
CREATE INDEX audit_log_by_time ON audit_log (at, id);
CREATE INDEX audit_log_by_subject ON audit_log (subject, at, id);
CREATE INDEX audit_log_by_operation ON audit_log (operation, at, id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the audit log is append-only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER entries_stay_for_400_days BEFORE DELETE ON audit_log
  FOR EACH ROW WHEN (OLD.at > now() - interval '400 days') EXECUTE FUNCTION refuse_change();
CREATE TRIGGER all_entries_stay BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Only a sequence's owner may raise it (libs/platform/src/postgres/sequences.ts), and the service is not the owner.
-- `hold_sequence` changes nothing, but blocks `nextval` by others until the transaction ends.
CREATE FUNCTION hold_sequence(sequence regclass) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('ALTER SEQUENCE %s INCREMENT BY 1', sequence);
END $$;
CREATE FUNCTION restart_sequence(sequence regclass, next bigint) RETURNS void
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  EXECUTE format('ALTER SEQUENCE %s RESTART WITH %s', sequence, next);
END $$;
