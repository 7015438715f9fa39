-- Access administration: tenants, users, links, roles, permissions, sign-in.
create extension if not exists pg_trgm;
create extension if not exists unaccent;

-- Case- and accent-insensitive form of a text; immutable so that it can be generated and indexed.
create function fold(value text) returns text
  language sql immutable parallel safe strict
  as $$ select lower(public.unaccent('public.unaccent'::regdictionary, value)) $$;

-- The LIKE pattern that finds `value` anywhere in a folded text. Escapes after folding, which can make a wildcard out
-- of a full-width character.
create function search_pattern(value text) returns text
  language sql immutable parallel safe strict
  as $$ select '%' || regexp_replace(fold(value), '([\\%_])', '\\\1', 'g') || '%' $$;

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
-- One index for each order of the lists, so that a page is read and not sorted; and what totals are counted from.
create index users_by_first_name on users (lower(first_name), id);
create index users_by_last_name on users (lower(last_name), id);
create index users_by_created on users (created_at, id);
create index users_by_last_login on users (last_login_at nulls first, id);
create index users_live on users (is_active, lockout_expires_at) where deleted_at is null;
create index users_locked on users (lockout_expires_at) where lockout_expires_at is not null;

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
  -- Null once the role is deleted: what refers to it keeps a role from being deleted under a holder.
  live_tenant_id uuid generated always as (case when deleted_at is null then tenant_id end) stored,
  search_text text generated always as (fold(name || ' ' || coalesce(description, ''))) stored,
  constraint roles_id_live_unique unique (id, live_tenant_id)
);
create unique index roles_name_unique on roles (tenant_id, lower(name)) where deleted_at is null;
create index roles_by_name on roles (lower(name)) where deleted_at is null;

-- The composite keys hold the rule that a link carries live roles of its own tenant only.
create table user_tenant_roles (
  user_id uuid not null,
  tenant_id uuid not null,
  role_id uuid not null,
  constraint user_tenant_roles_pkey primary key (user_id, tenant_id, role_id),
  constraint user_tenant_roles_link foreign key (user_id, tenant_id)
    references user_tenants (user_id, tenant_id) on delete cascade,
  constraint user_tenant_roles_role foreign key (role_id, tenant_id) references roles (id, live_tenant_id)
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
  -- Null once the permission is deleted: a permission that a role carries cannot be.
  live_id uuid generated always as (case when deleted_at is null then id end) stored,
  search_text text generated always as
    (fold(code || ' ' || coalesce(description, '') || ' ' || category)) stored,
  constraint permissions_live_unique unique (live_id),
  constraint permissions_code_form check (code ~ '^[a-z][a-z0-9-]*:[a-z][a-z0-9-]*$'),
  constraint permissions_platform_reach_in_catalog check (reach = 'Tenant' or tenant_id is null)
);
create unique index permissions_code_unique on permissions
  (code, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')) where deleted_at is null;
create index permissions_tenant on permissions (tenant_id, category, code);
create index permissions_by_code on permissions (code) where deleted_at is null;

create table role_permissions (
  role_id uuid not null references roles (id) on delete cascade,
  permission_id uuid not null,
  constraint role_permissions_pkey primary key (role_id, permission_id),
  constraint role_permissions_permission foreign key (permission_id) references permissions (live_id)
);
create index role_permissions_by_permission on role_permissions (permission_id);

-- tenants.user_count is the number of active links of users that are not deleted, kept by these triggers so that
-- the capacity rule and lists read one column instead of counting. They fire once a statement: a row at a time, many
-- links made in one tenant at once would pile up as many versions of its one row.
create function count_linked_users() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    update tenants t set user_count = user_count + n from (
      select l.tenant_id, count(*) as n from new_links l join users u on u.id = l.user_id
      where l.is_active and u.deleted_at is null group by l.tenant_id) made
    where t.id = made.tenant_id;
  elsif tg_op = 'DELETE' then
    update tenants t set user_count = user_count - n from (
      select l.tenant_id, count(*) as n from old_links l join users u on u.id = l.user_id
      where l.is_active and u.deleted_at is null group by l.tenant_id) gone
    where t.id = gone.tenant_id;
  else
    update tenants t set user_count = user_count + n from (
      select l.tenant_id, sum(l.n) as n from (
        select user_id, tenant_id, 1 as n from new_links where is_active
        union all select user_id, tenant_id, -1 from old_links where is_active) l
      join users u on u.id = l.user_id
      where u.deleted_at is null group by l.tenant_id having sum(l.n) <> 0) changed
    where t.id = changed.tenant_id;
  end if;
  return null;
end $$;
create trigger user_tenants_count_made after insert on user_tenants
  referencing new table as new_links for each statement execute function count_linked_users();
create trigger user_tenants_count_gone after delete on user_tenants
  referencing old table as old_links for each statement execute function count_linked_users();
create trigger user_tenants_count_changed after update on user_tenants
  referencing old table as old_links new table as new_links for each statement execute function count_linked_users();

create function count_deleted_user() returns trigger language plpgsql as $$
begin
  update tenants t set user_count = user_count + case when new.deleted_at is null then 1 else -1 end
  from user_tenants l where l.user_id = new.id and l.tenant_id = t.id and l.is_active;
  -- A deleted user holds no roles, so that a role's holders are counted from its index alone.
  if new.deleted_at is not null then
    delete from user_tenant_roles where user_id = new.id;
  end if;
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
create index sessions_user on sessions (user_id, id) where revoked_at is null;
create index sessions_expiry on sessions (expires_at);
create index sessions_revoked on sessions (revoked_at) where revoked_at is not null;

-- One row a refresh token ever given, kept until its own time is over: a used one seen again revokes its session.
create table refresh_tokens (
  token_hash bytea primary key,
  session_id uuid not null references sessions (id) on delete cascade,
  tenant_id uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz
);
create index refresh_tokens_session on refresh_tokens (session_id);
create index refresh_tokens_expiry on refresh_tokens (expires_at);

-- Wrong sign-ins of late, by account (`user:<id>`) and by address (`address:<ip>`): what lockouts and the limit per
-- address are counted from.
create table failed_sign_ins (
  subject text primary key,
  failed_at timestamptz[] not null,
  last_failed_at timestamptz not null
);
create index failed_sign_ins_last on failed_sign_ins (last_failed_at);

create table password_resets (
  token_hash bytea primary key,
  user_id uuid not null references users (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index password_resets_user on password_resets (user_id);
create index password_resets_expiry on password_resets (expires_at);

-- Who a user is at an OpenID provider. One subject per user and issuer: an address that the provider gives to
-- another person later must not lead that person into this account.
create table user_identities (
  issuer text not null,
  subject text not null,
  user_id uuid not null references users (id),
  created_at timestamptz not null default now(),
  constraint user_identities_pkey primary key (issuer, subject),
  constraint user_identities_one_subject unique (user_id, issuer)
);

-- A sign-in on its way to an OpenID provider and back; taken away when it comes back, so it counts once.
create table oidc_flows (
  state_hash bytea primary key,
  browser_hash bytea not null,
  provider text not null,
  nonce text not null,
  code_verifier text not null,
  return_to text,
  tenant_id uuid,
  is_global boolean not null,
  expires_at timestamptz not null
);
create index oidc_flows_expiry on oidc_flows (expires_at);

-- A finished OpenID sign-in that waits to be fetched by the page the browser was sent back to.
create table oidc_handovers (
  code_hash bytea primary key,
  user_id uuid not null references users (id),
  tenant_id uuid,
  is_global boolean not null,
  expires_at timestamptz not null
);
create index oidc_handovers_expiry on oidc_handovers (expires_at);
