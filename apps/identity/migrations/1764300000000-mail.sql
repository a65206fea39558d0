-- Mail about accounts, and verified e-mail addresses.

-- email_verified_at: when the user showed to receive mail at `email`; null: never. order_mails: wants mail about orders.
ALTER TABLE users
  ADD COLUMN email_verified_at timestamptz,
  ADD COLUMN order_mails       boolean NOT NULL DEFAULT false;

-- A new address is unverified, whoever writes it: also a process of the previous release, which does not know the column.
CREATE FUNCTION forget_verification() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.email_verified_at := NULL;
  RETURN NEW;
END $$;
CREATE TRIGGER new_address_is_unverified BEFORE UPDATE OF email ON users
  FOR EACH ROW WHEN (OLD.email IS DISTINCT FROM NEW.email) EXECUTE FUNCTION forget_verification();

-- Links of mails, each of which works once. Only the hash of its code is stored.
CREATE TABLE one_time_links (
  code_hash  sha256      PRIMARY KEY,
  user_id    uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
  purpose    text        NOT NULL CHECK (purpose IN ('verify-address', 'recovery')),
  -- A hash of what the link is for: it ends when the address or the password changes.
  bound_to   sha256      NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX one_time_links_of_user ON one_time_links (user_id);
CREATE INDEX one_time_links_by_expiry ON one_time_links (expires_at);

-- What identity has to tell notifications, in order; a row is written in the transaction that causes it and deleted when notifications
-- has answered. It outlives its user: the deletion of a user is told, too.
CREATE TABLE mail_outbox (
  position     bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id           uuid        NOT NULL,
  user_id      uuid        NOT NULL,
  -- A mail, or `recipient`: whom mail about orders goes to.
  kind         text        NOT NULL,
  -- As JSON, encrypted with IDENTITY_SECRET.
  content      bytea       NOT NULL,
  -- The secret that encrypted it.
  key_id       text        NOT NULL,
  -- It is dropped then, since it is of no more use. Null: never.
  useless_from timestamptz,
  written_at   timestamptz NOT NULL DEFAULT now(),
  -- Until then a replica is sending it.
  leased_until timestamptz NOT NULL DEFAULT '-infinity'
);
CREATE INDEX mail_outbox_of_user ON mail_outbox (user_id, position);
CREATE INDEX mail_outbox_useless ON mail_outbox (useless_from) WHERE useless_from IS NOT NULL;

-- Requests for recovery, until a background loop looks for the account: the request itself does the same work whether there is one.
CREATE TABLE recovery_requests (
  id           bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- As JSON, encrypted with IDENTITY_SECRET.
  asked        bytea       NOT NULL,
  key_id       text        NOT NULL,
  requested_at timestamptz NOT NULL DEFAULT now()
);

-- Where a user has logged in, to report a login elsewhere: a hash of the browser and the network.
CREATE TABLE known_devices (
  user_id uuid        NOT NULL REFERENCES users ON DELETE CASCADE,
  device  sha256      NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, device)
);
