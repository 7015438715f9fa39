-- What was answered under an Idempotency-Key, so that a repeat is answered the same and nothing is done twice.
create table idempotency_keys (
  -- SHA-256 of caller, tenant, operation and key.
  id bytea primary key,
  -- SHA-256 of path, query and body: the same key for something else is refused.
  fingerprint bytea not null,
  created_at timestamptz not null default now(),
  -- The answer; null while the work is under way.
  status smallint,
  headers jsonb,
  body text,
  -- For work of several transactions: who does it, until when they are given, and whether any of it has committed.
  claim uuid,
  claimed_until timestamptz,
  begun boolean not null default false,
  constraint idempotency_keys_hashes check (octet_length(id) = 32 and octet_length(fingerprint) = 32),
  constraint idempotency_keys_answer check ((status is null) = (headers is null)),
  constraint idempotency_keys_claim check ((claim is null) = (claimed_until is null)),
  constraint idempotency_keys_held check (status is not null or claim is not null)
);
create index idempotency_keys_created on idempotency_keys (created_at);
