-- Destinations: streams of a message broker that the events of all orders are published to.
CREATE TABLE destinations (
  id           uuid        PRIMARY KEY,
  -- Lists are paged by it.
  place        bigint      GENERATED ALWAYS AS IDENTITY UNIQUE,
  name         text        NOT NULL,
  url          text        NOT NULL,
  stream       text        NOT NULL,
  -- The first words of the messages' subjects.
  subject      text        NOT NULL,
  -- Credentials of a user of the broker, and the key that encrypted them.
  key_id       text,
  encrypted    bytea,
  -- The filter, as of webhooks.
  event_types  text[]      NOT NULL CHECK (cardinality(event_types) > 0),
  plant_id     bigint,
  new_statuses text[]      CHECK (cardinality(new_statuses) > 0),
  per_second   integer     NOT NULL CHECK (per_second > 0),
  state        text        NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'disabled')),
  version      integer     NOT NULL DEFAULT 1,
  created_at   timestamptz NOT NULL DEFAULT now(),

  -- Positions in the log are an epoch and the number of an event in it. Where this destination began:
  first_epoch  uuid        NOT NULL,
  first_seq    bigint      NOT NULL,
  -- The broker has acknowledged all events up to this one that match.
  epoch        uuid        NOT NULL,
  seq          bigint      NOT NULL,
  -- The last message that the broker acknowledged, as the code for that broker needs it to notice that the stream has lost messages.
  mark         text,
  -- A replay under way: the last event that was published again, the last to publish, and the times of the events.
  replay_seq   bigint,
  replay_end   bigint,
  replay_since timestamptz,
  replay_until timestamptz,

  -- Names the replica that publishes, and when another may.
  lease        uuid,
  lease_until  timestamptz NOT NULL DEFAULT '-infinity',
  -- The version with which its server was reached.
  reached      integer,
  -- Why nothing is published, and when it is tried again.
  held_reason  text,
  held_detail  text,
  held_since   timestamptz,
  look_at      timestamptz NOT NULL DEFAULT '-infinity',
  pause_ms     integer     NOT NULL DEFAULT 0,

  CHECK ((encrypted IS NULL) = (key_id IS NULL)),
  CHECK (num_nulls(replay_seq, replay_end, replay_since, replay_until) IN (0, 4)),
  CHECK (num_nulls(held_reason, held_detail, held_since) IN (0, 3))
) WITH (fillfactor = 50);
