-- The catalog's plants. Identifiers and versions are bigint bounded to what JavaScript counts exactly.

CREATE DOMAIN safe_id AS bigint CHECK (VALUE BETWEEN 1 AND 9007199254740991);

-- Assigned ids leave the small ones to clients.
CREATE SEQUENCE plant_ids START 1000000001 MAXVALUE 9007199254740991;

-- One sequence for all versions of all plants, and a plant's incarnation is the version it was created with. So both only
-- go up, also for an id that was used before, and no version (an entity tag, for clients) ever comes back.
CREATE SEQUENCE plant_versions MAXVALUE 9007199254740991;

CREATE TABLE plants (
  id          safe_id     PRIMARY KEY,
  -- In order of creation: what lists are paged by, newest first.
  incarnation safe_id     NOT NULL UNIQUE,
  version     safe_id     NOT NULL,
  name        text        NOT NULL,
  -- {id?, name?} as given, with the id filled in; NULL: the plant has none.
  category    jsonb,
  photo_urls  text[]      NOT NULL,
  -- [{id, name}] in the order given.
  tags        jsonb       NOT NULL,
  status      text        NOT NULL CHECK (status IN ('available', 'pending', 'sold')),
  -- Length of the plant as JSON in UTF-8, so that a page can end by size before the database sends it.
  bytes       integer     NOT NULL CHECK (bytes > 0),
  created_at  timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT versions_go_up CHECK (version >= incarnation),
  CONSTRAINT at_most_64_photos CHECK (cardinality(photo_urls) <= 64)
);
CREATE INDEX plants_by_status ON plants (status, incarnation);

-- Each name that a plant is tagged with, once.
-- Rejected: plants.tag_names text[] under a GIN index. It knows no order, so Postgres either sorts all that carry a tag or
-- walks the list until it has met enough of them. The newest 20 of 1,000,000 plants (Postgres 15, warm): 130 ms sorted for
-- a tag that every second one has, 260 ms walked for a tag that ten have. With this table: 1 ms for either.
CREATE TABLE plant_tags (
  name        text    NOT NULL,
  incarnation safe_id NOT NULL REFERENCES plants (incarnation) ON DELETE CASCADE,
  PRIMARY KEY (name, incarnation)
);
CREATE INDEX plant_tags_of_plant ON plant_tags (incarnation);

-- Ids for tags and categories that come without one: the same name gets the same id, for good. They are never keys.
CREATE SEQUENCE label_ids START 1000000001 MAXVALUE 9007199254740991;
CREATE TABLE labels (
  kind text    NOT NULL CHECK (kind IN ('category', 'tag')),
  name text    NOT NULL,
  id   safe_id NOT NULL DEFAULT nextval('label_ids'),
  PRIMARY KEY (kind, name)
);

-- What the store has still to be told about a plant; no row: it knows all. Written in the transaction of the change,
-- removed once the store has answered, rolled forward by a background loop meanwhile.
CREATE TABLE stock_intents (
  incarnation    safe_id     PRIMARY KEY REFERENCES plants (incarnation) ON DELETE CASCADE,
  -- openStock is not acknowledged yet, and the units it carries (NULL: the store's initial stock).
  opens          boolean     NOT NULL,
  units          bigint      CHECK (units >= 0),
  -- The version whose status listStock has still to carry.
  lists_version  safe_id,
  -- The latest attempt to retire the plant's stock; set: the plant is being deleted.
  retire_attempt safe_id,
  tries          integer     NOT NULL DEFAULT 0,
  -- Until then somebody is at it: the request that wrote the row, or a loop that took it.
  next_try_at    timestamptz NOT NULL,
  CONSTRAINT says_something CHECK (opens OR lists_version IS NOT NULL OR retire_attempt IS NOT NULL)
);
CREATE INDEX stock_intents_due ON stock_intents (next_try_at);

-- Numbers attempts to retire: the store refuses one that is older than one it has decided.
CREATE SEQUENCE retire_attempts MAXVALUE 9007199254740991;
