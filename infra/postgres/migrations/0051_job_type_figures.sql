-- Ended attempts by job type, for each minute of the last two hours and each hour of the last day. Each instance writes
-- rows of its own and overwrites them while an interval lasts, so a repeated write changes nothing. Readers add them up.
create table job_type_figures (
  -- As in job_counts: a tenant, all zeros for the service's own, all f for everything.
  scope uuid not null,
  job_type_name text not null,
  grain text not null,
  start timestamptz(3) not null,
  instance_id uuid not null,
  succeeded integer not null,
  -- Failed attempts; dead_lettered of them were the last ones of their jobs.
  failed integer not null,
  dead_lettered integer not null,
  postponed integer not null,
  abandoned integer not null,
  -- Pairs of a bucket and its count. Bucket n contains times of up to 0.01 ms × 1.1^n.
  waits integer[] not null,
  durations integer[] not null,
  constraint job_type_figures_pkey primary key (scope, job_type_name, grain, start, instance_id),
  constraint job_type_figures_grain_known check (grain in ('minute', 'hour'))
) with (fillfactor = 50);
create index job_type_figures_age on job_type_figures (grain, start);
