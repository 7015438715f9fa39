-- Previous version: may run. Rotate keys after it has stopped.
-- API keys and service accounts get a new secret while the former one stays good for a time, and both can expire.
alter table api_keys
  add column version integer not null default 1,
  add column updated_at timestamptz(3) not null default now(),
  -- the secret before the last rotation, and the end of its use
  add column former_hash bytea,
  add column former_until timestamptz(3),
  add constraint api_keys_former_hash_unique unique (former_hash),
  add constraint api_keys_former_secret check ((former_hash is null) = (former_until is null));
update api_keys set version = case when revoked_at is null then 1 else 2 end, updated_at = coalesce(revoked_at, created_at);
alter table service_accounts
  add column expires_at timestamptz(3),
  add column former_hash bytea,
  add column former_until timestamptz(3),
  add constraint service_accounts_former_hash_unique unique (former_hash),
  add constraint service_accounts_former_secret check ((former_hash is null) = (former_until is null));
