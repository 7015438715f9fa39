-- Keys of machine callers: each of one tenant, with at most the rights of whoever made it. Revoked ones stay, so that
-- the audit log can name them.
create table api_keys (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  created_by uuid not null references users (id),
  name text not null,
  hash bytea not null,
  start text not null,
  permissions text[] not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz,
  revoked_by uuid,
  last_used_at timestamptz,
  last_used_ip text,
  search_text text generated always as (fold(name)) stored,
  constraint api_keys_hash_unique unique (hash),
  constraint api_keys_give_something check (cardinality(permissions) > 0)
);
create index api_keys_by_tenant on api_keys (tenant_id, created_at, id);

alter table audit_log add column api_key_id uuid;
