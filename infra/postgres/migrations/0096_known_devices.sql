-- Devices that have signed in before. Their wrong passwords are counted apart from those of all others, so that a
-- stranger who locks an account does not lock out its owner.
create table known_devices (
  id uuid primary key,
  user_id uuid not null references users (id),
  token_hash bytea not null,
  created_at timestamptz(3) not null default now(),
  -- When the device last sent its token back; null: never.
  last_used_at timestamptz(3),
  expires_at timestamptz(3) not null,
  constraint known_devices_token_unique unique (token_hash)
);
create index known_devices_user on known_devices (user_id);
create index known_devices_expiry on known_devices (expires_at);
