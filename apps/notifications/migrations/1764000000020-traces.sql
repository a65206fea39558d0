-- What caused an event, as its feed says (W3C Trace Context): frames and webhooks are linked with it. Null when nobody
-- traces. No part of the event: clients never get it.
ALTER TABLE event_log ADD COLUMN traceparent text;
ALTER TABLE webhook_deliveries ADD COLUMN traceparent text;
