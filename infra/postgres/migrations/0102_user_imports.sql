-- Imports of users from a file, and what became of each row until the result file is stored.
create table user_imports (
  id uuid primary key,
  -- null: an import into several tenants, whose rows name them
  tenant_id uuid references tenants (id),
  file_id uuid not null,
  is_dry_run boolean not null,
  status text not null default 'Queued',
  -- in whose name it runs: the user or service account, its key, and the tenant and permissions of the request
  created_by uuid not null,
  api_key_id uuid,
  is_service_account boolean not null,
  acting_tenant_id uuid,
  permissions text[] not null,
  trace_id text not null,
  total integer,
  -- how many rows are done; written together with the users of these rows
  position integer not null default 0,
  created integer not null default 0,
  updated integer not null default 0,
  unchanged integer not null default 0,
  failed integer not null default 0,
  error text,
  result_file_id uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  started_at timestamptz(3),
  finished_at timestamptz(3),
  constraint user_imports_status check (status in ('Queued', 'Running', 'Completed', 'Failed')),
  constraint user_imports_counts check (created + updated + unchanged + failed = position),
  constraint user_imports_finished check ((status in ('Completed', 'Failed')) = (finished_at is not null))
);
create index user_imports_tenant on user_imports (tenant_id, id);

create table user_import_rows (
  import_id uuid not null references user_imports (id) on delete cascade,
  row integer not null,
  email text,
  outcome text not null,
  errors text[] not null,
  constraint user_import_rows_pkey primary key (import_id, row)
);
