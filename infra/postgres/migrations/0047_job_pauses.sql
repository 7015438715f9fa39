-- Queues and job types whose waiting jobs do not start.
create table job_pauses (
  id uuid primary key,
  kind text not null,
  name text not null,
  -- Null: paused for all tenants and the service's own jobs.
  tenant_id uuid references tenants (id),
  reason text,
  paused_by uuid,
  paused_at timestamptz(3) not null default now(),
  constraint job_pauses_kind_known check (kind in ('queue', 'type'))
);
create unique index job_pauses_unique on job_pauses
  (kind, name, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'));

-- True after a pause or resume, until the worker has read the pauses again. Until then it claims nothing.
alter table job_workers add column pauses_changed boolean not null default false;
