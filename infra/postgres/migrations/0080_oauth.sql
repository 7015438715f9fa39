-- OAuth clients: programs that users sign in to with this service as their OpenID provider. Revoked ones stay, so that
-- the audit log can name them.
create table oauth_clients (
  id uuid primary key,
  client_id text not null,
  -- the tenant whose users may sign in; null: users of every tenant
  tenant_id uuid references tenants (id),
  name text not null,
  kind text not null,
  -- SHA-256 of the secret; a public client has none
  secret_hash bytea,
  -- the first characters of the secret
  start text,
  redirect_uris text[] not null,
  post_logout_redirect_uris text[] not null,
  audience text not null,
  scopes text[] not null,
  token_claims text[] not null,
  token_algorithm text not null,
  -- its users are not asked for consent
  first_party boolean not null,
  version integer not null default 1,
  created_by uuid not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  revoked_at timestamptz(3),
  revoked_by uuid,
  last_used_at timestamptz(3),
  search_text text generated always as (fold(name)) stored,
  constraint oauth_clients_client_id_unique unique (client_id),
  constraint oauth_clients_kind check (
    kind = 'confidential' and secret_hash is not null and start is not null
    or kind = 'public' and secret_hash is null and start is null),
  constraint oauth_clients_algorithm check (token_algorithm in ('EdDSA', 'RS256')),
  constraint oauth_clients_claims check (token_claims <@ array['permissions'])
);
create index oauth_clients_by_tenant on oauth_clients (tenant_id, created_at, id);
create index oauth_clients_by_time on oauth_clients (created_at, id);
create index oauth_clients_by_audience on oauth_clients (audience);

-- The tenant (null: the platform) whose clients use an audience. The API behind an audience trusts tokens that name it,
-- so two tenants never share one.
create table oauth_audiences (
  audience text primary key,
  tenant_id uuid references tenants (id)
);

-- A session that a client got belongs to that client. It ends with the session of the browser that signed in to the
-- client (`opened_by`), unless the client may act while the user is away (scope offline_access).
alter table sessions
  add column client_id uuid references oauth_clients (id),
  add column opened_by uuid;
create index sessions_opened_by on sessions (opened_by) where opened_by is not null and revoked_at is null;

-- What a user's sign-in gave a client: first a code that works once, then tokens. It lives as long as its session.
create table oauth_grants (
  session_id uuid primary key references sessions (id) on delete cascade,
  client_id uuid not null references oauth_clients (id),
  user_id uuid not null references users (id),
  tenant_id uuid references tenants (id),
  scopes text[] not null,
  -- The session of the browser, for the claim `sid` of ID tokens.
  browser_session_id uuid not null,
  -- The code and what its redemption must repeat.
  code_hash bytea not null,
  code_expires_at timestamptz(3) not null,
  code_used_at timestamptz(3),
  redirect_uri text not null,
  code_challenge text not null,
  nonce text,
  -- The current refresh token. All refresh tokens of a grant contain the same family secret, so an old one is
  -- recognised without a row of its own.
  family_hash bytea,
  refresh_hash bytea,
  refresh_expires_at timestamptz(3),
  refreshed_at timestamptz(3),
  created_at timestamptz(3) not null default now(),
  constraint oauth_grants_code_unique unique (code_hash),
  constraint oauth_grants_refresh check (
    (family_hash is null) = (refresh_hash is null) and (refresh_hash is null) = (refresh_expires_at is null))
) with (fillfactor = 80);
create index oauth_grants_of_user on oauth_grants (user_id, client_id);

-- The scopes that a user allowed a client, so that the user is not asked again.
create table oauth_consents (
  user_id uuid not null references users (id),
  client_id uuid not null references oauth_clients (id),
  scopes text[] not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  primary key (user_id, client_id)
);

-- Tokens of a service account name the version of its secret, so that a new secret ends them.
alter table service_accounts add column secret_version integer not null default 1;
