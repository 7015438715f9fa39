-- Previous version: may run. Let users act as others and work in tenants after it has stopped.
-- A user acts as another user of a tenant for at most an hour, or works in a tenant without a link to it.
create table delegations (
  -- also the id of its session
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  -- the user as whom the actor acts; the actor's own id: the actor works in the tenant
  user_id uuid not null references users (id),
  actor_id uuid not null references users (id),
  reason text not null,
  may_write boolean not null,
  minutes integer not null,
  status text not null,
  created_at timestamptz(3) not null default now(),
  decided_at timestamptz(3),
  opened_at timestamptz(3),
  expires_at timestamptz(3),
  ended_at timestamptz(3),
  constraint delegations_minutes check (minutes between 1 and 60),
  constraint delegations_status check (status in ('Requested', 'Allowed', 'Refused', 'Open', 'Ended')),
  constraint delegations_open check ((status in ('Open', 'Ended')) = (opened_at is not null) or status = 'Ended')
);
create index delegations_by_tenant on delegations (tenant_id, id);
create index delegations_by_user on delegations (user_id, id);
create index delegations_by_actor on delegations (actor_id);
-- The session of a delegation is good in one tenant, and ends with the session of its actor.
alter table sessions
  add column only_tenant_id uuid references tenants (id),
  add column actor_id uuid references users (id),
  add column actor_session_id uuid references sessions (id) on delete cascade,
  add column may_write boolean not null default true;
create index sessions_by_actor on sessions (actor_session_id) where actor_session_id is not null;
-- The browser acts by this session while it is live.
alter table browser_sessions add column acting_session_id uuid references sessions (id) on delete set null;
alter table tenants add column act_as text not null default 'allowed',
  add constraint tenants_act_as check (act_as in ('allowed', 'consent', 'forbidden'));
-- The user who acted as the actor.
alter table audit_log add column acted_by uuid;
