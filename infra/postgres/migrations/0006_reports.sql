-- Report executions and schedules; formats, statuses and methods are the integers callers see.
-- The state machine of executions is drawn in domain/reports/README.md.
create table report_executions (
  id uuid primary key,
  tenant_id uuid,
  template_id text not null,
  report_name text not null,
  format smallint not null,
  status smallint not null,
  parameters_json text not null,
  -- What a caller must hold to see the execution or its document: what its rows needed.
  required_permissions text[] not null,
  delivery_json text,
  stored_file_id uuid,
  file_name text,
  content_type text,
  file_size_bytes bigint,
  row_count bigint,
  generation_ms bigint,
  error_message text,
  requested_by text,
  created_by uuid,
  schedule_id uuid,
  -- The run that generates it now, or did: a result counts only while its run is the one named here.
  run_id uuid,
  attempts smallint not null default 0,
  -- The jobs that speak for it: the one that generates it, and the last one that delivers it.
  job_id uuid,
  delivery_job_id uuid,
  trace_id text,
  download_count integer not null default 0,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  expires_at timestamptz,
  deleted_at timestamptz,
  constraint report_executions_format_known check (format between 1 and 4),
  constraint report_executions_status_known check (status between 1 and 6),
  constraint report_executions_generating_has_a_run check (status <> 2 or run_id is not null),
  constraint report_executions_completed_has_a_file check (status not in (3, 5) or stored_file_id is not null)
);
create index report_executions_tenant on report_executions (tenant_id, id) where deleted_at is null;
create index report_executions_schedule on report_executions (schedule_id, id) where schedule_id is not null;
create index report_executions_open on report_executions (id) where status in (1, 2);
create index report_executions_expiry on report_executions (expires_at) where run_id is not null;

-- What became of one recipient (an address, a target path, a webhook URL) of an execution's delivery.
create table report_deliveries (
  id uuid primary key,
  execution_id uuid not null references report_executions (id) on delete cascade,
  method smallint not null,
  recipient text not null,
  status text not null default 'Owed',
  notification_id uuid,
  attempts smallint not null default 0,
  error_message text,
  updated_at timestamptz not null default now(),
  constraint report_deliveries_status_known check (status in ('Owed', 'Delivered', 'Failed')),
  constraint report_deliveries_once unique (execution_id, method, recipient)
);
create index report_deliveries_owed on report_deliveries (execution_id) where status = 'Owed';

create table report_schedules (
  id uuid primary key,
  tenant_id uuid,
  template_id text not null,
  name text not null,
  description text,
  cron_expression text not null,
  time_zone_id text not null default 'UTC',
  format smallint not null,
  parameters_json text not null,
  -- What a caller must hold to see or change the schedule: what its rows need.
  required_permissions text[] not null,
  delivery_json text,
  is_active boolean not null default true,
  next_run_at timestamptz,
  last_run_at timestamptz,
  last_execution_id uuid,
  failures_in_a_row integer not null default 0,
  version integer not null default 1,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint report_schedules_format_known check (format between 1 and 4),
  constraint report_schedules_next_while_active check (is_active = (next_run_at is not null))
);
create index report_schedules_tenant on report_schedules (tenant_id, id);
create index report_schedules_due on report_schedules (next_run_at) where is_active;
