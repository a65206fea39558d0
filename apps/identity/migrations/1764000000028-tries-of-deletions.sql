-- How often a background loop has leased the deletion. The lease, which is also the pause before the next try, grows with it.
ALTER TABLE user_deletions ADD COLUMN tries integer NOT NULL DEFAULT 0;
