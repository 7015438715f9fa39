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
  -- Set by whoever adds a continuation, on the locked parent row, so that settling the parent sees it.
  has_children boolean not null default false,
  recurring_job_id text,
  created_by uuid,
  trace_id text,
  -- Type name of a job whose type limits how many run at once.
  limit_key text,
  -- Jobs that wait in one line: claims take turns between the lanes of a priority, so no tenant holds up another.
  lane text collate "C" not null,
  constraint jobs_priority_known check (priority between 0 and 3),
  constraint jobs_max_retries_range check (max_retries between 0 and 25),
  constraint jobs_worker_while_processing check ((status = 'Processing') = (worker_id is not null)),
  constraint jobs_awaiting_have_parent check (status <> 'AwaitingParent' or parent_job_id is not null),
  constraint jobs_queue_named check (queue <> '')
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.1);
-- 0 Critical, 1 High, 2 Normal, 3 Low. All rows are due now, so claims read from the front of each lane.
create index jobs_ready on jobs (priority, lane, due_at, id) where status = 'Enqueued';
create index jobs_waiting on jobs (due_at) where status in ('Scheduled', 'Failed');
create index jobs_held on jobs (worker_id) where status = 'Processing';
create index jobs_tenant on jobs (tenant_id, id);
create index jobs_children on jobs (parent_job_id) where status = 'AwaitingParent';
-- Statuses off the usual way (Enqueued, Processing, Succeeded), which costs nothing by this index.
create index jobs_unusual on jobs (tenant_id, status, id)
  where status in ('Scheduled', 'AwaitingParent', 'Failed', 'DeadLettered', 'Cancelled');
create index jobs_unusual_anywhere on jobs (status, id)
  where status in ('Scheduled', 'AwaitingParent', 'Failed', 'DeadLettered', 'Cancelled');

-- One row an ended attempt. A running attempt is the job row itself. No foreign key: rows come in the statement that
-- settles their job and go in the one that prunes it, and checking a key for each would cost a fifth of the pace.
create table job_executions (
  job_id uuid not null,
  tenant_id uuid,
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

-- What an attempt reported while it ran.
create table job_log_lines (
  job_id uuid not null,
  attempt_number integer not null,
  line_number integer not null,
  at timestamptz not null,
  level text not null,
  message text not null,
  fields jsonb,
  constraint job_log_lines_pkey primary key (job_id, attempt_number, line_number)
);
create table job_progress (
  job_id uuid not null,
  attempt_number integer not null,
  percent real not null,
  note text,
  updated_at timestamptz not null default now(),
  constraint job_progress_pkey primary key (job_id, attempt_number),
  constraint job_progress_percent_range check (percent between 0 and 100)
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
create index dead_letter_jobs_failed on dead_letter_jobs (failed_at);

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
  updated_at timestamptz not null default now(),
  constraint recurring_jobs_next_unless_paused check (is_paused = (next_run_at is null)),
  constraint recurring_jobs_id_form check (job_id ~ '^[A-Za-z0-9._:-]{1,100}$')
);
create unique index recurring_jobs_id_unique on recurring_jobs
  (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), job_id);
create index recurring_jobs_due on recurring_jobs (next_run_at) where not is_paused;

-- Counters: how many jobs of each kind there are, without counting them. Triggers append what a statement changed to
-- the deltas, which nobody waits for; a fold adds them up into the counts. Both together are exact in any snapshot.
-- `scope` is a tenant, all zeros for the service's own jobs, all f for everything.
create table job_count_deltas (
  tenant_id uuid,
  status job_status not null,
  type job_type not null,
  priority smallint not null,
  queue text not null,
  job_type_name text not null,
  n integer not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create table job_counts (
  scope uuid not null,
  status job_status not null,
  type job_type not null,
  priority smallint not null,
  queue text not null,
  job_type_name text not null,
  n bigint not null,
  constraint job_counts_pkey primary key (scope, status, type, priority, queue, job_type_name)
);
create table execution_count_deltas (
  tenant_id uuid,
  n integer not null,
  duration_ms double precision not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create table execution_counts (
  scope uuid primary key,
  n bigint not null,
  duration_ms double precision not null
);

create function count_inserted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_deltas
  select tenant_id, status, type, priority, queue, job_type_name, count(*) from added group by 1, 2, 3, 4, 5, 6;
  return null;
end $$;
create trigger jobs_count_insert after insert on jobs referencing new table as added
  for each statement execute function count_inserted_jobs();

create function count_updated_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_deltas
  select tenant_id, status, type, priority, queue, job_type_name, sum(n) from (
    select tenant_id, status, type, priority, queue, job_type_name, -1 as n from before
    union all
    select tenant_id, status, type, priority, queue, job_type_name, 1 from after
  ) changed group by 1, 2, 3, 4, 5, 6 having sum(n) <> 0;
  return null;
end $$;
create trigger jobs_count_update after update on jobs referencing old table as before new table as after
  for each statement execute function count_updated_jobs();

create function count_deleted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_deltas
  select tenant_id, status, type, priority, queue, job_type_name, -count(*) from removed group by 1, 2, 3, 4, 5, 6;
  return null;
end $$;
create trigger jobs_count_delete after delete on jobs referencing old table as removed
  for each statement execute function count_deleted_jobs();

create function count_inserted_executions() returns trigger language plpgsql as $$
begin
  insert into execution_count_deltas
  select tenant_id, count(*), sum(extract(epoch from completed_at - started_at)::float8 * 1000) from added group by 1;
  return null;
end $$;
create trigger job_executions_count_insert after insert on job_executions referencing new table as added
  for each statement execute function count_inserted_executions();

create function count_deleted_executions() returns trigger language plpgsql as $$
begin
  insert into execution_count_deltas
  select tenant_id, -count(*), -sum(extract(epoch from completed_at - started_at)::float8 * 1000) from removed group by 1;
  return null;
end $$;
create trigger job_executions_count_delete after delete on job_executions referencing old table as removed
  for each statement execute function count_deleted_executions();
