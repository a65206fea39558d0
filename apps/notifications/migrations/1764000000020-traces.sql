-- The cause of an event, from its feed (W3C Trace Context): traces of frames and webhooks link to it. Null if untraced. Not
-- part of the event: clients never get it.
ALTER TABLE event_log ADD COLUMN traceparent text;
ALTER TABLE webhook_deliveries ADD COLUMN traceparent text;
