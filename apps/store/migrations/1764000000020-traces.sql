-- The trace and span of a transition (W3C Trace Context), for links from its consequences; null if untraced. Not part of the
-- event: clients never get it.
ALTER TABLE order_transitions ADD COLUMN traceparent text;
