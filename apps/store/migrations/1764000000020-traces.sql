-- Where in which trace a transition was made (W3C Trace Context), so that what follows from it is linked with it; null
-- when nobody traces. No part of the event: clients never get it.
ALTER TABLE order_transitions ADD COLUMN traceparent text;
