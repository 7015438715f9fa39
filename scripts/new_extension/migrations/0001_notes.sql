-- Runs in the schema "sample". Never change this file after it was applied: add 0002_….sql.
create table notes (
  id uuid primary key,
  tenant_id uuid not null,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  title text not null,
  is_done boolean not null
);
create index notes_tenant on notes (tenant_id, created_at);
