-- The ledger of all background work. See domain/jobs/README.md for the state machine.
create type job_status as enum
  ('Enqueued', 'Scheduled', 'AwaitingParent', 'Processing', 'Succeeded', 'Failed', 'DeadLettered', 'Cancelled');
create type job_type as enum ('FireAndForget', 'Delayed', 'Recurring', 'Continuation');

create table jobs (
  id uuid primary key,
  tenant_id uuid,
  job_type_name text not null,
  serialized_args text not null,
  args_type_name text,
  type job_type not null,
  status job_status not null,
  priority smallint not null,
  queue text not null,
  due_at timestamptz not null,
  scheduled_at timestamptz,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  attempts integer not null default 0,
  failures integer not null default 0,
  max_retries smallint not null,
  worker_id uuid,
  last_error text,
  parent_job_id uuid,
  recurring_job_id text,
  created_by uuid,
  trace_id text,
  constraint jobs_priority_known check (priority between 0 and 3),
  constraint jobs_max_retries_range check (max_retries between 0 and 25),
  constraint jobs_worker_while_processing check ((status = 'Processing') = (worker_id is not null)),
  constraint jobs_queue_form check (queue ~ '^[a-z0-9][a-z0-9._-]{0,63}$')
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
-- 0 Critical, 1 High, 2 Normal, 3 Low: claims walk this index from its front.
create index jobs_ready on jobs (priority, due_at, id) where status in ('Enqueued', 'Scheduled', 'Failed');
create index jobs_held on jobs (worker_id) where status = 'Processing';
create index jobs_tenant on jobs (tenant_id, id);
create index jobs_children on jobs (parent_job_id) where status = 'AwaitingParent';

-- One row an ended attempt. A running attempt is the job row itself.
create table job_executions (
  id uuid not null,
  job_id uuid not null references jobs (id) on delete cascade,
  attempt_number integer not null,
  status text not null,
  started_at timestamptz not null,
  completed_at timestamptz not null,
  error_message text,
  worker_id uuid not null,
  output text,
  constraint job_executions_pkey primary key (job_id, attempt_number),
  constraint job_executions_status_known check (status in ('Succeeded', 'Failed', 'Abandoned'))
);

-- A worker's lease on all it holds: alive while heartbeat_at is recent.
create table job_workers (
  id uuid primary key,
  started_at timestamptz not null default now(),
  heartbeat_at timestamptz not null default now(),
  host text not null
);

create table dead_letter_jobs (
  id uuid primary key,
  job_id uuid not null,
  tenant_id uuid,
  job_type_name text not null,
  queue text not null,
  serialized_args text not null,
  attempts integer not null,
  error_message text,
  failed_at timestamptz not null default now(),
  retried_at timestamptz,
  retried_job_id uuid
);
create index dead_letter_jobs_tenant on dead_letter_jobs (tenant_id, id);
create index dead_letter_jobs_job on dead_letter_jobs (job_id);

create table recurring_jobs (
  id uuid primary key,
  tenant_id uuid,
  job_id text not null,
  job_type_name text not null,
  cron_expression text not null,
  time_zone_id text not null,
  queue text not null,
  serialized_args text not null,
  args_type_name text,
  is_paused boolean not null default false,
  next_run_at timestamptz,
  last_run_at timestamptz,
  last_job_id uuid,
  version integer not null default 1,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index recurring_jobs_id_unique on recurring_jobs
  (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), job_id);
create index recurring_jobs_due on recurring_jobs (next_run_at) where not is_paused;
