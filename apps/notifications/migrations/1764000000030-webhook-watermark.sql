-- Webhooks follow the log with their own watermark (src/webhooks/queue/own-orders-enqueuer.ts).
CREATE TABLE webhook_watermark (
  only_row  boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- The deliveries of events up to this number are created.
  watermark bigint  NOT NULL
);

-- Processes of the previous release create the deliveries of the events that they log, in the transaction that logs them.
-- Deliveries of events that other processes logged must be created first, because an order's events are appended to its lanes
-- in order. So this trigger creates those when such a process moves the log's watermark, before the process creates its own.
-- Processes that create theirs later set `notifications.deliveries` to `follow`.
CREATE FUNCTION make_deliveries_of_the_log() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  made bigint;
BEGIN
  SELECT watermark INTO made FROM webhook_watermark FOR UPDATE;
  IF made < OLD.watermark THEN
    WITH wanted AS MATERIALIZED (
      SELECT w.id AS webhook_id, l.seq, l.event_id, l.order_id, l.subject <> w.owner_id AS of_others, l.body, l.traceparent
      FROM event_log l JOIN webhooks w ON w.owner_id = l.subject OR w.sees_all
      WHERE l.seq > made AND l.seq <= OLD.watermark AND (l.body::jsonb ->> 'event') = ANY (w.event_types) AND w.state <> 'deleted'
        AND (w.order_id IS NULL OR w.order_id = l.order_id) AND (w.plant_id IS NULL OR w.plant_id = l.plant_id)
        AND (NOT l.repeats OR NOT EXISTS (
          SELECT 1 FROM webhook_deliveries d WHERE d.event_id = l.event_id AND d.webhook_id = w.id
          UNION ALL
          SELECT 1 FROM event_log o WHERE o.event_id = l.event_id AND o.seq > made AND o.seq < l.seq))
    ), lanes AS (
      INSERT INTO webhook_lanes AS lane (webhook_id, order_id)
      SELECT DISTINCT webhook_id, order_id FROM wanted WHERE order_id IS NOT NULL ORDER BY webhook_id, order_id
      ON CONFLICT (webhook_id, order_id) DO UPDATE SET additions = lane.additions + 1
      RETURNING webhook_id, order_id, additions = 1 AS is_new
    ), inserted AS (
      INSERT INTO webhook_deliveries (webhook_id, event_id, seq, order_id, of_others, in_lane, body, traceparent, due_at)
      SELECT webhook_id, event_id, seq, order_id, of_others, order_id IS NOT NULL, body, traceparent,
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
  END IF;
  UPDATE webhook_watermark SET watermark = NEW.watermark;
  RETURN NULL;
END $$;

CREATE TRIGGER feed_watermark_deliveries AFTER UPDATE OF watermark ON feed_watermark FOR EACH ROW
  WHEN (NEW.watermark > OLD.watermark AND coalesce(current_setting('notifications.deliveries', true), '') <> 'follow')
  EXECUTE FUNCTION make_deliveries_of_the_log();

-- After CREATE TRIGGER, whose lock waits for running updates of the log's watermark and blocks others until the commit.
INSERT INTO webhook_watermark (watermark) SELECT watermark FROM feed_watermark;
