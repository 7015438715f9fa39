-- Webhooks: endpoints of a tenant, the secrets they are signed with, and what is owed to them.
create table webhook_endpoints (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  url text not null,
  description text,
  event_types text[] not null,
  is_active boolean not null default true,
  disabled_reason text,
  -- when the first of the failures came that no success has followed
  failing_since timestamptz,
  created_by uuid,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  search_text text generated always as (fold(url || ' ' || coalesce(description, ''))) stored,
  constraint webhook_endpoints_want_something check (cardinality(event_types) > 0),
  constraint webhook_endpoints_disabled check (disabled_reason is null or disabled_reason in ('Gone', 'Failing') and not is_active)
);
create index webhook_endpoints_by_tenant on webhook_endpoints (tenant_id, created_at, id);
create index webhook_endpoints_active on webhook_endpoints (tenant_id) where is_active;

-- Signing needs the secret itself. It lies apart from what is read and listed.
create table webhook_secrets (
  endpoint_id uuid not null references webhook_endpoints (id) on delete cascade,
  secret text not null,
  created_at timestamptz not null default clock_timestamp(),
  -- null: the current one
  valid_until timestamptz,
  primary key (endpoint_id, secret)
);
create unique index webhook_secrets_current on webhook_secrets (endpoint_id) where valid_until is null;

create type webhook_delivery_status as enum ('Pending', 'Delivered', 'Failed');

create table webhook_deliveries (
  id uuid primary key,
  endpoint_id uuid not null references webhook_endpoints (id) on delete cascade,
  event_type text not null,
  body text not null,
  job_id uuid not null,
  status webhook_delivery_status not null default 'Pending',
  attempt_count integer not null default 0,
  -- attempts since it was made or sent again
  round_attempts integer not null default 0,
  created_at timestamptz not null default now(),
  next_attempt_at timestamptz default now(),
  completed_at timestamptz,
  constraint webhook_deliveries_pending check ((status = 'Pending') = (next_attempt_at is not null))
);
create index webhook_deliveries_by_endpoint on webhook_deliveries (endpoint_id, id);
create index webhook_deliveries_overdue on webhook_deliveries (next_attempt_at) where status = 'Pending';
create index webhook_deliveries_old on webhook_deliveries (created_at);

create table webhook_attempts (
  delivery_id uuid not null references webhook_deliveries (id) on delete cascade,
  number integer not null,
  attempted_at timestamptz not null,
  duration_ms integer not null,
  status_code integer,
  error text,
  -- the first KiB
  answer text,
  primary key (delivery_id, number)
);
