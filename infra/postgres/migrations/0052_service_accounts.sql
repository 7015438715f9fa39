-- Accounts of programs. Unlike an API key, a service account is not tied to a user and acts in one, several or all
-- tenants. Revoked ones stay, so that the audit log can name them.
create table service_accounts (
  id uuid primary key,
  client_id text not null,
  name text not null,
  hash bytea not null,
  start text not null,
  permissions text[] not null,
  -- null: all tenants except the platform's, also future ones
  tenant_ids uuid[],
  -- the tenant that manages the account; null: it acts in several tenants, and is managed with admin:system
  only_tenant_id uuid generated always as (case when cardinality(tenant_ids) = 1 then tenant_ids[1] end) stored,
  version integer not null default 1,
  created_by uuid not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3),
  revoked_by uuid,
  last_used_at timestamptz(3),
  last_used_ip text,
  search_text text generated always as (fold(name)) stored,
  constraint service_accounts_hash_unique unique (hash),
  constraint service_accounts_client_id_unique unique (client_id),
  constraint service_accounts_have_permissions check (cardinality(permissions) > 0),
  constraint service_accounts_have_tenants check (cardinality(tenant_ids) > 0)
);
create index service_accounts_by_tenant on service_accounts (only_tenant_id, created_at, id);
