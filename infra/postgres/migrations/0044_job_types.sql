-- Job types that callers declare. Their handlers run in the callers' own processes. See domain/jobs/README.md.
create table job_types (
  id uuid primary key,
  -- Null: declared without a tenant context, for all tenants.
  tenant_id uuid references tenants (id),
  name text not null,
  description text,
  -- JSON Schema of the arguments, as given; null: any arguments.
  args_schema text,
  timeout_seconds integer not null,
  max_retries smallint not null,
  concurrency integer,
  rate_count integer,
  rate_per_seconds integer,
  rate_key text,
  secret_args text[] not null,
  -- All paths that were ever secret, also before the type was deleted: stored arguments stay masked.
  masked_args text[] not null,
  push_url text,
  -- Signs what is pushed (Standard Webhooks).
  signing_secret text not null,
  version integer not null default 1,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  -- Set when the type was deleted. The row stays for masked_args.
  deleted_at timestamptz(3),
  constraint job_types_name_form check (name ~ '^[a-z0-9][a-z0-9.-]{0,99}$'),
  constraint job_types_timeout_range check (timeout_seconds between 1 and 604800),
  constraint job_types_max_retries_range check (max_retries between 0 and 25),
  constraint job_types_rate_whole check ((rate_count is null) = (rate_per_seconds is null))
);
create unique index job_types_name_unique on job_types
  (name, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));
create index job_types_tenant on job_types (tenant_id, name) where deleted_at is null;
