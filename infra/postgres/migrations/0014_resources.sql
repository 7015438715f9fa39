-- Resources of the generic contract: applications are marked as deleted, settings are removed.
create table applications (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  code text not null,
  name text not null,
  description text,
  is_active boolean not null default true,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  search_text text generated always as (fold(code || ' ' || name)) stored
);
create unique index applications_code_unique on applications (tenant_id, lower(code)) where deleted_at is null;
create index applications_by_created on applications (tenant_id, created_at, id);
create index applications_search on applications using gin (search_text gin_trgm_ops);

create table settings (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  key text not null,
  value text not null,
  description text,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  search_text text generated always as (fold(key || ' ' || coalesce(description, ''))) stored
);
create unique index settings_key_unique on settings (tenant_id, key);
create index settings_by_created on settings (tenant_id, created_at, id);
create index settings_search on settings using gin (search_text gin_trgm_ops);
