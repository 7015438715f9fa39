-- Access administration: tenants, users, links, roles, permissions, sessions.
create extension if not exists pg_trgm;
create extension if not exists unaccent;

-- Case- and accent-insensitive form of a text; immutable so that it can be generated and indexed.
create function fold(value text) returns text
  language sql immutable parallel safe strict
  as $$ select lower(public.unaccent('public.unaccent'::regdictionary, value)) $$;

create type tenant_type as enum ('Platform', 'Group', 'Standard');

create table tenants (
  id uuid primary key,
  name text not null,
  type tenant_type not null,
  is_active boolean not null default true,
  parent_tenant_id uuid references tenants (id),
  max_users integer,
  user_count integer not null default 0,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  search_text text generated always as (fold(name)) stored,
  constraint tenants_max_users_positive check (max_users > 0),
  constraint tenants_user_count_not_negative check (user_count >= 0),
  constraint tenants_not_own_parent check (parent_tenant_id <> id)
);
create unique index tenants_name_unique on tenants (lower(name)) where deleted_at is null;
create unique index tenants_one_platform on tenants (type) where type = 'Platform';
create index tenants_parent on tenants (parent_tenant_id) where parent_tenant_id is not null;
create index tenants_search on tenants using gin (search_text gin_trgm_ops);

create table users (
  id uuid primary key,
  email text not null,
  password_hash text,
  first_name text not null default '',
  last_name text not null default '',
  phone_number text,
  is_active boolean not null default true,
  app_ids text[] not null default '{}',
  security_version integer not null default 1,
  failed_sign_ins smallint not null default 0,
  failed_sign_ins_since timestamptz,
  lockout_expires_at timestamptz,
  last_login_at timestamptz,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  search_text text generated always as (fold(email || ' ' || first_name || ' ' || last_name)) stored
) with (fillfactor = 85);
create unique index users_email_unique on users (lower(email));
create index users_search on users using gin (search_text gin_trgm_ops);

create table user_tenants (
  user_id uuid not null references users (id),
  tenant_id uuid not null references tenants (id),
  is_active boolean not null default true,
  is_default boolean not null default false,
  created_at timestamptz not null default now(),
  constraint user_tenants_pkey primary key (user_id, tenant_id)
);
create unique index user_tenants_one_default on user_tenants (user_id) where is_default;
create index user_tenants_tenant on user_tenants (tenant_id, user_id);

create table roles (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  name text not null,
  description text,
  is_system boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  search_text text generated always as (fold(name || ' ' || coalesce(description, ''))) stored,
  constraint roles_id_tenant_unique unique (id, tenant_id)
);
create unique index roles_name_unique on roles (tenant_id, lower(name)) where deleted_at is null;

-- The composite keys hold the rule that a link carries roles of its own tenant only.
create table user_tenant_roles (
  user_id uuid not null,
  tenant_id uuid not null,
  role_id uuid not null,
  constraint user_tenant_roles_pkey primary key (user_id, tenant_id, role_id),
  constraint user_tenant_roles_link foreign key (user_id, tenant_id)
    references user_tenants (user_id, tenant_id) on delete cascade,
  constraint user_tenant_roles_role foreign key (role_id, tenant_id) references roles (id, tenant_id)
);
create index user_tenant_roles_by_role on user_tenant_roles (role_id, user_id);

create type permission_reach as enum ('Platform', 'Tenant');

create table permissions (
  id uuid primary key,
  tenant_id uuid references tenants (id),
  code text not null,
  description text,
  category text not null,
  reach permission_reach not null default 'Tenant',
  is_system boolean not null default false,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  search_text text generated always as
    (fold(code || ' ' || coalesce(description, '') || ' ' || category)) stored,
  constraint permissions_code_form check (code ~ '^[a-z][a-z0-9-]*:[a-z][a-z0-9-]*$'),
  constraint permissions_platform_reach_in_catalog check (reach = 'Tenant' or tenant_id is null)
);
create unique index permissions_code_unique on permissions
  (code, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')) where deleted_at is null;
create index permissions_tenant on permissions (tenant_id, category, code);

create table role_permissions (
  role_id uuid not null references roles (id) on delete cascade,
  permission_id uuid not null references permissions (id),
  constraint role_permissions_pkey primary key (role_id, permission_id)
);
create index role_permissions_by_permission on role_permissions (permission_id);

-- tenants.user_count is the number of active links of users that are not deleted, kept by these triggers so that
-- the capacity rule and lists read one column instead of counting.
create function count_linked_users() returns trigger language plpgsql as $$
begin
  if tg_op in ('UPDATE', 'DELETE') and old.is_active and
     exists (select from users where id = old.user_id and deleted_at is null) then
    update tenants set user_count = user_count - 1 where id = old.tenant_id;
  end if;
  if tg_op in ('UPDATE', 'INSERT') and new.is_active and
     exists (select from users where id = new.user_id and deleted_at is null) then
    update tenants set user_count = user_count + 1 where id = new.tenant_id;
  end if;
  return null;
end $$;
create trigger user_tenants_count after insert or delete or update of is_active on user_tenants
  for each row execute function count_linked_users();

create function count_deleted_user() returns trigger language plpgsql as $$
begin
  update tenants t set user_count = user_count + case when new.deleted_at is null then 1 else -1 end
  from user_tenants l where l.user_id = new.id and l.tenant_id = t.id and l.is_active;
  return null;
end $$;
create trigger users_deleted_count after update of deleted_at on users
  for each row when ((old.deleted_at is null) <> (new.deleted_at is null)) execute function count_deleted_user();

create table sessions (
  id uuid primary key,
  user_id uuid not null references users (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  revoked_reason text,
  ip text,
  user_agent text
);
create index sessions_user on sessions (user_id) where revoked_at is null;
create index sessions_expiry on sessions (expires_at);

-- One row a refresh token ever given: a used one seen again revokes its session.
create table refresh_tokens (
  token_hash bytea primary key,
  session_id uuid not null references sessions (id) on delete cascade,
  tenant_id uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index refresh_tokens_session on refresh_tokens (session_id);
