-- Addresses that a tenant sends mail from, once it has proved that they are its own.
create table notification_senders (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  address text not null,
  -- normalized for comparison
  address_key text not null,
  name text,
  method text not null,
  status text not null default 'Pending',
  -- used for mails that name no sender; only while it is verified
  is_default boolean not null default false,
  -- the expected TXT record of the domain; public
  dns_value text,
  -- of the mailed link
  token_hash bytea,
  -- until when a pending sender can be proved
  proof_ends_at timestamptz(3) not null,
  -- checks in a row that did not find the record
  misses integer not null default 0,
  last_error text,
  checked_at timestamptz(3),
  next_check_at timestamptz(3),
  verified_at timestamptz(3),
  created_by uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  constraint notification_senders_address_unique unique (tenant_id, address_key),
  constraint notification_senders_method check (method in ('Dns', 'Mail')),
  constraint notification_senders_status check (status in ('Pending', 'Verified', 'Failed')),
  constraint notification_senders_record check ((method = 'Dns') = (dns_value is not null)),
  constraint notification_senders_token check (token_hash is null or method = 'Mail' and status = 'Pending')
);
create unique index notification_senders_default on notification_senders (tenant_id) where is_default;
create unique index notification_senders_token_unique on notification_senders (token_hash);
create index notification_senders_due on notification_senders (next_check_at);

-- how many proofs of senders the tenant has started since when, to limit them
alter table tenant_looks add column proofs integer not null default 0;
alter table tenant_looks add column proofs_since timestamptz(3);
