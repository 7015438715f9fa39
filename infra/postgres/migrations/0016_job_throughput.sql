-- How many attempts ended in each minute and hour, per scope, so that a dashboard need not read executions. The
-- deltas that count executions carry the minute too; the fold adds them up. Deleted executions change nothing here:
-- what happened has happened.
create table job_throughput (
  -- As in job_counts: a tenant, all zeros for the service's own, all f for everything.
  scope uuid not null,
  grain text not null,
  start timestamptz not null,
  succeeded bigint not null,
  failed bigint not null,
  abandoned bigint not null,
  constraint job_throughput_pkey primary key (scope, grain, start),
  constraint job_throughput_grain_known check (grain in ('minute', 'hour'))
) with (fillfactor = 70);
create index job_throughput_age on job_throughput (grain, start);

alter table execution_count_deltas
  -- Null where executions were deleted.
  add column minute timestamptz,
  add column failed integer not null default 0,
  add column abandoned integer not null default 0;

create or replace function count_inserted_executions() returns trigger language plpgsql as $$
begin
  insert into execution_count_deltas (tenant_id, minute, n, duration_ms, failed, abandoned)
  select tenant_id, date_trunc('minute', completed_at), count(*),
    sum(extract(epoch from completed_at - started_at)::float8 * 1000),
    count(*) filter (where status = 'Failed'), count(*) filter (where status = 'Abandoned')
  from added group by 1, 2;
  return null;
end $$;
create or replace function count_deleted_executions() returns trigger language plpgsql as $$
begin
  insert into execution_count_deltas (tenant_id, n, duration_ms)
  select tenant_id, -count(*), -sum(extract(epoch from completed_at - started_at)::float8 * 1000) from removed group by 1;
  return null;
end $$;

-- A job's continuations and a recurring job's runs, for those who look at one; most jobs are neither.
create index jobs_continuations on jobs (parent_job_id, id) where parent_job_id is not null;
create index jobs_recurring_runs on jobs (recurring_job_id, id) where recurring_job_id is not null;

-- Dead letters that wait for a decision, counted on every look at the dashboard.
create index dead_letter_jobs_open on dead_letter_jobs (tenant_id) where retried_at is null;
