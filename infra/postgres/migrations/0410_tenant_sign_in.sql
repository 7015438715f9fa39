-- Previous version: may run. Set up tenants' own sign-in after it has stopped.
-- A tenant's own providers of sign-in (OpenID Connect and SAML), its proven domains, and who may still use a password.
create table sign_in_providers (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  kind text not null,
  name text not null,
  is_enabled boolean not null default false,
  -- kind Oidc: issuer and clientId; kind Saml: entityId, signInUrl and certificates (PEM)
  connection jsonb not null,
  -- encrypted, bound to the id
  client_secret text,
  -- names of claims or attributes: email, firstName, lastName, groups
  claims jsonb not null default '{}',
  -- a stranger with a proven domain becomes a user with this role
  creates_users boolean not null default false,
  role_id uuid references roles (id),
  -- the provider asks for a second factor at each sign-in
  satisfies_second_factor boolean not null default true,
  last_sign_in_at timestamptz(3),
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint sign_in_providers_kind check (kind in ('Oidc', 'Saml')),
  constraint sign_in_providers_connection_object check (jsonb_typeof(connection) = 'object'),
  constraint sign_in_providers_secret check (kind = 'Oidc' or client_secret is null)
);
create index sign_in_providers_by_tenant on sign_in_providers (tenant_id, id);
create index sign_in_providers_by_role on sign_in_providers (role_id) where role_id is not null;
-- The user of a subject. Two tenants may have the same provider; each has its own rows.
create table sign_in_subjects (
  provider_id uuid references sign_in_providers (id) on delete cascade,
  subject text,
  user_id uuid not null references users (id),
  created_at timestamptz(3) not null default now(),
  primary key (provider_id, subject),
  -- a new account of the provider with the email of a former one does not get the former one's user
  constraint sign_in_subjects_user unique (user_id, provider_id)
);
-- Assertions that were used, until they expire, so that each works once.
create table sign_in_assertions (
  provider_id uuid references sign_in_providers (id) on delete cascade,
  id_hash bytea,
  expires_at timestamptz(3) not null,
  primary key (provider_id, id_hash)
);
create index sign_in_assertions_expiry on sign_in_assertions (expires_at);
-- A domain of email addresses that a tenant proves by a DNS text. Several tenants may prove the same one, because a
-- session of a tenant's provider is good in that tenant only.
create table sign_in_domains (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  -- in lower case and ASCII
  name text not null,
  dns_value text not null,
  status text not null default 'Pending',
  misses integer not null default 0,
  created_at timestamptz(3) not null default now(),
  verified_at timestamptz(3),
  checked_at timestamptz(3),
  next_check_at timestamptz(3),
  last_error text,
  constraint sign_in_domains_status check (status in ('Pending', 'Verified', 'Failed')),
  constraint sign_in_domains_unique unique (tenant_id, name)
);
create index sign_in_domains_by_name on sign_in_domains (name) where status = 'Verified';
create index sign_in_domains_due on sign_in_domains (next_check_at) where next_check_at is not null;
-- A link by which a stranger to the service sets up the sign-in of one tenant, for a day.
create table sign_in_setup_links (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  token_hash bytea not null unique,
  -- a user or a service account; the link is good as long as they hold the permission
  created_by uuid not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3)
);
create index sign_in_setup_links_by_tenant on sign_in_setup_links (tenant_id, id);
-- The session's provider. Its `only_tenant_id` is the provider's tenant. It is ended before the provider is deleted, and stays,
-- because the job that tells clients of the end reads it.
alter table sessions add column provider_id uuid references sign_in_providers (id) on delete set null;
create index sessions_by_provider on sessions (provider_id) where provider_id is not null;
-- A device that a session of a tenant's provider registered gets the messages of this tenant only.
alter table user_devices add column only_tenant_id uuid;
-- False: only users with may_use_password sign in to the tenant by another way than its providers.
alter table tenants add column password_sign_in boolean not null default true;
alter table user_tenants add column may_use_password boolean not null default false;
-- A started sign-in, test or not, until the browser has returned; the identity that the provider asserted.
alter table oidc_flows
  add column provider_id uuid references sign_in_providers (id) on delete cascade,
  add column is_test boolean not null default false,
  add column identity jsonb;
alter table oidc_handovers
  add column provider_id uuid references sign_in_providers (id) on delete cascade;
-- A sign-in by a provider that waits for the second factor.
alter table factor_tokens
  add column provider_id uuid references sign_in_providers (id) on delete cascade;
