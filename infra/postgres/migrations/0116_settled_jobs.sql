-- A job succeeds once, so its own row records the successful attempt: one row is written instead of two. job_attempts has
-- the attempts that ended otherwise, and successful ones of versions before.
alter table jobs
  add column settled_by uuid, -- the worker of the successful attempt
  add column output text,
  add column outcome text;
comment on column jobs.outcome is 'what a remote worker reported';

alter table job_executions rename to job_attempts;
alter table job_attempts rename constraint job_executions_pkey to job_attempts_pkey;
alter table job_attempts rename constraint job_executions_status_known to job_attempts_status_known;
alter trigger job_executions_count_insert on job_attempts rename to job_attempts_count_insert;
alter trigger job_executions_count_delete on job_attempts rename to job_attempts_count_delete;

-- The ended attempts of all jobs.
create view job_executions as
  select job_id, tenant_id, attempt_number, status, started_at, completed_at, error_message, worker_id, output, outcome
  from job_attempts
  union all
  select id, tenant_id, attempts, 'Succeeded', started_at, completed_at, null, settled_by, output, outcome
  from jobs where settled_by is not null;

-- Instances of the version before write the view.
create function write_job_execution() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into job_attempts (job_id, tenant_id, attempt_number, status, started_at, completed_at, error_message, worker_id,
      output, outcome)
    values (new.job_id, new.tenant_id, new.attempt_number, new.status, new.started_at, new.completed_at,
      new.error_message, new.worker_id, new.output, new.outcome);
    return new;
  end if;
  delete from job_attempts where job_id = old.job_id and attempt_number = old.attempt_number;
  update jobs set settled_by = null, output = null, outcome = null
  where id = old.job_id and attempts = old.attempt_number and settled_by is not null;
  return old;
end $$;
create trigger job_executions_write instead of insert or delete on job_executions
  for each row execute function write_job_execution();

-- One trigger per kind of statement counts jobs by status, jobs of batches, and successful attempts.
drop trigger jobs_batch_count_insert on jobs;
drop trigger jobs_batch_count_update on jobs;
drop function count_inserted_batch_jobs();
drop function count_updated_batch_jobs();

create or replace function count_inserted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_changes
  select tenant_id, status, type, priority, queue, job_type_name, count(*) from added group by 1, 2, 3, 4, 5, 6;
  insert into job_batch_changes
  select batch_id, status, count(*) from added where batch_id is not null group by 1, 2;
  insert into job_search_keys
  select keys.key, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), id
  from added cross join lateral job_search_keys_of(created_by, search_keys) keys (key)
  where created_by is not null or search_keys is not null
  on conflict do nothing;
  return null;
end $$;

create or replace function count_updated_jobs() returns trigger language plpgsql as $$
begin
  with changed as materialized (
    select tenant_id, status, type, priority, queue, job_type_name, batch_id,
      case when settled_by is not null then date_bin('1 minute', completed_at, '2000-01-01') end as minute,
      sum(n) as n, sum(n * date_part('epoch', completed_at - started_at) * 1000) as duration_ms
    from (
      select tenant_id, status, type, priority, queue, job_type_name, batch_id, settled_by, started_at, completed_at,
        -1 as n from before
      union all
      select tenant_id, status, type, priority, queue, job_type_name, batch_id, settled_by, started_at, completed_at,
        1 from after
    ) each group by 1, 2, 3, 4, 5, 6, 7, 8
  ), in_batches as (
    insert into job_batch_changes
    select batch_id, status, sum(n) from changed where batch_id is not null group by 1, 2 having sum(n) <> 0
  ), successful as (
    insert into execution_count_changes (tenant_id, minute, n, duration_ms)
    select tenant_id, case when sum(n) > 0 then minute end, sum(n), sum(duration_ms)
    from changed where minute is not null group by tenant_id, minute having sum(n) <> 0
  )
  insert into job_count_changes
  select tenant_id, status, type, priority, queue, job_type_name, sum(n) from changed
  group by 1, 2, 3, 4, 5, 6 having sum(n) <> 0;
  return null;
end $$;

create or replace function count_deleted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_changes
  select tenant_id, status, type, priority, queue, job_type_name, -count(*) from removed group by 1, 2, 3, 4, 5, 6;
  insert into execution_count_changes (tenant_id, n, duration_ms)
  select tenant_id, -count(*), -sum(date_part('epoch', completed_at - started_at) * 1000)
  from removed where settled_by is not null group by 1;
  delete from job_search_keys k
  using removed r cross join lateral job_search_keys_of(r.created_by, r.search_keys) keys (key)
  where k.key = keys.key and k.job_id = r.id
    and k.scope = coalesce(r.tenant_id, '00000000-0000-0000-0000-000000000000');
  return null;
end $$;

create or replace function count_inserted_executions() returns trigger language plpgsql as $$
begin
  insert into execution_count_changes (tenant_id, minute, n, duration_ms, failed, abandoned)
  select tenant_id, date_bin('1 minute', completed_at, '2000-01-01'), count(*),
    sum(date_part('epoch', completed_at - started_at) * 1000),
    count(*) filter (where status = 'Failed'), count(*) filter (where status = 'Abandoned')
  from added group by 1, 2;
  return null;
end $$;

create or replace function count_deleted_executions() returns trigger language plpgsql as $$
begin
  insert into execution_count_changes (tenant_id, n, duration_ms)
  select tenant_id, -count(*), -sum(date_part('epoch', completed_at - started_at) * 1000) from removed group by 1;
  return null;
end $$;
