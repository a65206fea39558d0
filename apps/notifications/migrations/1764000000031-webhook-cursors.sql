-- Deliveries are created in bounded steps (src/webhooks/queue/own-orders-enqueuer.ts). Endpoints that see their owner's orders
-- share webhook_watermark; each endpoint that was created to see all orders follows the log with its own cursor.

-- One event can have more deliveries than a step creates. part_seq is the first event after the watermark that has any; its
-- deliveries to endpoints up to part_webhook_id are created.
ALTER TABLE webhook_watermark
  ADD COLUMN part_seq        bigint,
  ADD COLUMN part_webhook_id uuid;

-- No index on look_at: every step changes it, there are few rows, and without the index updates stay on their page.
CREATE TABLE webhook_cursors (
  webhook_id uuid        PRIMARY KEY REFERENCES webhooks ON DELETE CASCADE,
  -- This endpoint's deliveries of events up to this number are created.
  watermark  bigint      NOT NULL,
  -- When a step may next take this endpoint; the longest overdue endpoint comes first.
  look_at    timestamptz NOT NULL DEFAULT now(),
  -- Length of the last pause, which begins when enough of its deliveries are due or when its step failed.
  pause_ms   integer     NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- A trigger, because processes of the previous release create endpoints, too.
CREATE FUNCTION start_webhook_cursor() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhook_cursors (webhook_id, watermark) SELECT NEW.id, watermark FROM feed_watermark;
  RETURN NULL;
END $$;

CREATE TRIGGER webhooks_cursor AFTER INSERT ON webhooks FOR EACH ROW WHEN (NEW.made_for_all)
  EXECUTE FUNCTION start_webhook_cursor();

-- As in 1764000000030: a process of the previous release creates the deliveries of what it logs, for all endpoints. Before
-- that, this trigger creates the deliveries of events that other processes logged. Then it sets the watermark and all cursors
-- to the log's new watermark.
CREATE OR REPLACE FUNCTION make_deliveries_of_the_log() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  made webhook_watermark;
BEGIN
  SELECT * INTO made FROM webhook_watermark FOR UPDATE;
  PERFORM 1 FROM webhook_cursors ORDER BY webhook_id FOR UPDATE;
  WITH candidates AS (
    SELECT w.id AS webhook_id, made.watermark AS after, l AS event
    FROM event_log l JOIN webhooks w ON w.owner_id = l.subject AND NOT w.made_for_all
    WHERE l.seq > made.watermark AND l.seq <= OLD.watermark
      AND (made.part_seq IS NULL OR (l.seq, w.id) > (made.part_seq, made.part_webhook_id))
    UNION ALL
    SELECT w.id, c.watermark, l
    FROM webhook_cursors c JOIN webhooks w ON w.id = c.webhook_id
    JOIN event_log l ON l.seq > c.watermark AND l.seq <= OLD.watermark AND (w.sees_all OR l.subject = w.owner_id)
  ), wanted AS MATERIALIZED (
    SELECT w.id AS webhook_id, (c.event).*, (c.event).subject <> w.owner_id AS of_others
    FROM candidates c JOIN webhooks w ON w.id = c.webhook_id
    WHERE ((c.event).body::jsonb ->> 'event') = ANY (w.event_types) AND w.state <> 'deleted'
      AND (w.order_id IS NULL OR w.order_id = (c.event).order_id) AND (w.plant_id IS NULL OR w.plant_id = (c.event).plant_id)
      AND (NOT (c.event).repeats OR NOT EXISTS (
        SELECT 1 FROM webhook_deliveries d WHERE d.event_id = (c.event).event_id AND d.webhook_id = w.id
        UNION ALL
        SELECT 1 FROM event_log o WHERE o.event_id = (c.event).event_id AND o.seq > c.after AND o.seq < (c.event).seq))
  ), lanes AS (
    INSERT INTO webhook_lanes AS lane (webhook_id, order_id)
    SELECT DISTINCT webhook_id, order_id FROM wanted WHERE order_id IS NOT NULL ORDER BY webhook_id, order_id
    ON CONFLICT (webhook_id, order_id) DO UPDATE SET additions = lane.additions + 1
    RETURNING webhook_id, order_id, additions = 1 AS is_new
  ), inserted AS (
    INSERT INTO webhook_deliveries (webhook_id, event_id, seq, order_id, of_others, in_lane, body, traceparent, created_at, due_at)
    SELECT webhook_id, event_id, seq, order_id, of_others, order_id IS NOT NULL, body, traceparent, logged_at,
      CASE WHEN order_id IS NULL OR (
        row_number() OVER (PARTITION BY webhook_id, order_id ORDER BY seq) = 1
        AND (webhook_id, order_id) IN (SELECT webhook_id, order_id FROM lanes WHERE is_new)) THEN now() END
    FROM wanted ORDER BY seq, webhook_id
    RETURNING webhook_id, due_at
  ), turns AS (
    SELECT webhook_id FROM webhook_queues
    WHERE webhook_id = ANY (ARRAY(SELECT DISTINCT webhook_id FROM inserted WHERE due_at IS NOT NULL))
    ORDER BY webhook_id FOR NO KEY UPDATE
  )
  UPDATE webhook_queues SET turn_at = least(turn_at, now()) WHERE webhook_id = ANY (ARRAY(SELECT webhook_id FROM turns));
  UPDATE webhook_watermark SET watermark = NEW.watermark, part_seq = NULL, part_webhook_id = NULL;
  UPDATE webhook_cursors SET watermark = NEW.watermark;
  RETURN NULL;
END $$;

-- After CREATE TRIGGER, whose lock blocks new endpoints until the commit. The row lock blocks make_deliveries_of_the_log, and so
-- processes of the previous release that move the log's watermark.
INSERT INTO webhook_cursors (webhook_id, watermark)
SELECT w.id, m.watermark FROM webhooks w, (SELECT watermark FROM webhook_watermark FOR UPDATE) AS m WHERE w.made_for_all;
