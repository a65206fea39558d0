-- Search in the catalogue: the plants with a word, newest first (docs/decisions/search.md).
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

-- The vocabulary for typo tolerance. It has no words with digits: numbers have no typical spelling.
CREATE TABLE search_words (word text COLLATE "C" PRIMARY KEY);

-- The words of a text: lower case, without accents, at most 64 characters each. Splits at ASCII characters other than letters
-- and digits, and at general punctuation, so that it returns the same words under every locale. Also splits queries.
CREATE FUNCTION words_of(said text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT DISTINCT left(word, 64)
  FROM regexp_split_to_table(
    lower(CASE WHEN octet_length(said) = length(said) THEN said ELSE regexp_replace(normalize(said, NFKD), '[\u0300-\u036f]', '', 'g') END),
    '[\u0001-\u002f\u003a-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u303f]+'
  ) AS word
  WHERE word <> ''
$$;

-- The words that a plant is found by. At most 256: 64 long tags would otherwise cost thousands of rows.
CREATE FUNCTION words_of_plant(plant_name text, category jsonb, tags jsonb) RETURNS TABLE (word text, in_name boolean)
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT word, bool_or(in_name) FROM (
    SELECT words_of(plant_name) AS word, true AS in_name
    UNION ALL
    SELECT words_of(concat_ws(' ', category ->> 'name', (SELECT string_agg(tag ->> 'name', ' ') FROM jsonb_array_elements(tags) AS tag))), false
  ) AS words
  GROUP BY word ORDER BY bool_or(in_name) DESC, word LIMIT 256
$$;

-- Sorted: two transactions that add the same words in different orders would deadlock.
CREATE FUNCTION unknown_words(words text[]) RETURNS SETOF text LANGUAGE sql STABLE AS $$
  SELECT DISTINCT used.word FROM unnest(words) AS used (word)
  WHERE used.word ~ '^[^0-9]{3,}$' AND NOT EXISTS (SELECT FROM search_words AS known WHERE known.word = used.word COLLATE "C")
  ORDER BY used.word
$$;

-- Conflicts come from plants removed by TRUNCATE, which does not run these triggers and so leaves their words.
CREATE FUNCTION index_plant_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM plant_words USING old_plants AS earlier, words_of_plant(earlier.name, earlier.category, earlier.tags) AS gone
      WHERE plant_words.word = gone.word AND plant_words.incarnation = earlier.incarnation;
    RETURN NULL;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    DELETE FROM plant_words USING old_plants AS earlier JOIN new_plants AS later USING (incarnation), words_of_plant(earlier.name, earlier.category, earlier.tags) AS gone
      WHERE (earlier.name, earlier.category, earlier.tags) IS DISTINCT FROM (later.name, later.category, later.tags)
        AND plant_words.word = gone.word AND plant_words.incarnation = earlier.incarnation;
    WITH added AS (
      INSERT INTO plant_words (word, incarnation, in_name)
      SELECT own.word, later.incarnation, own.in_name
      FROM old_plants AS earlier JOIN new_plants AS later USING (incarnation), words_of_plant(later.name, later.category, later.tags) AS own
      WHERE (earlier.name, earlier.category, earlier.tags) IS DISTINCT FROM (later.name, later.category, later.tags)
      ON CONFLICT (word, incarnation) DO UPDATE SET in_name = excluded.in_name RETURNING word
    )
    INSERT INTO search_words SELECT word FROM unknown_words((SELECT array_agg(word) FROM added)) AS word ON CONFLICT DO NOTHING;
    RETURN NULL;
  END IF;
  WITH added AS (
    INSERT INTO plant_words (word, incarnation, in_name)
    SELECT own.word, later.incarnation, own.in_name FROM new_plants AS later, words_of_plant(later.name, later.category, later.tags) AS own
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

-- Indexes the plants that existed before the triggers, in batches, each in its own transaction. A change of a plant in a batch
-- waits for the end of the batch, and then replaces the words that the batch wrote.
CREATE PROCEDURE index_all_plants() LANGUAGE plpgsql AS $$
DECLARE
  passed bigint := 0;
  upto   bigint;
BEGIN
  LOOP
    SELECT max(incarnation) INTO upto
      FROM (SELECT incarnation FROM plants WHERE incarnation > passed ORDER BY incarnation LIMIT 5000) AS piece;
    EXIT WHEN upto IS NULL;
    WITH locked AS MATERIALIZED (
      SELECT incarnation, name, category, tags FROM plants WHERE incarnation > passed AND incarnation <= upto FOR SHARE
    ), added AS (
      INSERT INTO plant_words (word, incarnation, in_name)
      SELECT own.word, locked.incarnation, own.in_name
      FROM locked, words_of_plant(locked.name, locked.category, locked.tags) AS own
      ON CONFLICT DO NOTHING RETURNING word
    )
    INSERT INTO search_words SELECT word FROM unknown_words((SELECT array_agg(word) FROM added)) AS word ON CONFLICT DO NOTHING;
    COMMIT;
    passed := upto;
  END LOOP;
END $$;

-- Typo tolerance. Search works without it if the server lacks the extension or this role may not create it.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX search_words_by_trigram ON search_words USING gin (word gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
  RAISE NOTICE 'no pg_trgm: search will not find words that are spelled wrongly';
END $$;
