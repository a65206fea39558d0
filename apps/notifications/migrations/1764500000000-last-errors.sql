-- Of the last attempt of the endpoint, if that failed. While replicas of an older release record some, it may be null, or that of an earlier one.
ALTER TABLE webhook_queues ADD COLUMN last_error text;
