-- Sessions of the console: a cookie's secret, kept hashed, stands for a session and the tenant chosen in it.
create table browser_sessions (
  secret_hash bytea primary key,
  session_id uuid not null references sessions (id) on delete cascade,
  tenant_id uuid references tenants (id),
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now()
);
create index browser_sessions_session on browser_sessions (session_id);
