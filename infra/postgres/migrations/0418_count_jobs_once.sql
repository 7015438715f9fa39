-- Previous version: may run.
-- One trigger counts changed jobs for all counters. Two triggers read the changed rows twice.
drop trigger jobs_count_creations_delete on jobs;
drop trigger jobs_count_creations_insert on jobs;
drop trigger jobs_count_creations_update on jobs;
drop function count_creations();

create or replace function count_deleted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_changes
  select tenant_id, status, type, priority, queue, job_type_name, -count(*) from removed group by 1, 2, 3, 4, 5, 6;
  insert into job_creation_count_changes
  select tenant_id, left(id::text, 7), status, queue, job_type_name, -count(*) from removed group by 1, 2, 3, 4, 5;
  insert into execution_count_changes (tenant_id, n, duration_ms)
  select tenant_id, -count(*), -sum(date_part('epoch', completed_at - coalesce(began_at, started_at)) * 1000)
  from removed where settled_by is not null group by 1;
  delete from job_search_keys k
  using removed r cross join lateral job_search_keys_of(r.created_by, r.search_keys) keys (key)
  where k.key = keys.key and k.job_id = r.id
    and k.scope = coalesce(r.tenant_id, '00000000-0000-0000-0000-000000000000');
  return null;
end $$;

create or replace function count_inserted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_changes
  select tenant_id, status, type, priority, queue, job_type_name, count(*) from added group by 1, 2, 3, 4, 5, 6;
  insert into job_creation_count_changes
  select tenant_id, left(id::text, 7), status, queue, job_type_name, count(*) from added group by 1, 2, 3, 4, 5;
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
    select tenant_id, left(id::text, 7) as created, status, type, priority, queue, job_type_name, batch_id,
      case when settled_by is not null then date_bin('1 minute', completed_at, '2000-01-01') end as minute,
      sum(n) as n, sum(n * date_part('epoch', completed_at - coalesce(began_at, started_at)) * 1000) as duration_ms
    from (
      select tenant_id, id, status, type, priority, queue, job_type_name, batch_id, settled_by, started_at, completed_at,
        began_at, -1 as n from before
      union all
      select tenant_id, id, status, type, priority, queue, job_type_name, batch_id, settled_by, started_at, completed_at,
        began_at, 1 from after
    ) each group by 1, 2, 3, 4, 5, 6, 7, 8, 9
  ), in_batches as (
    insert into job_batch_changes
    select batch_id, status, sum(n) from changed where batch_id is not null group by 1, 2 having sum(n) <> 0
  ), successful as (
    insert into execution_count_changes (tenant_id, minute, n, duration_ms)
    select tenant_id, case when sum(n) > 0 then minute end, sum(n), sum(duration_ms)
    from changed where minute is not null group by tenant_id, minute having sum(n) <> 0
  ), by_creation as (
    insert into job_creation_count_changes
    select tenant_id, created, status, queue, job_type_name, sum(n) from changed
    group by 1, 2, 3, 4, 5 having sum(n) <> 0
  )
  insert into job_count_changes
  select tenant_id, status, type, priority, queue, job_type_name, sum(n) from changed
  group by 1, 2, 3, 4, 5, 6 having sum(n) <> 0;
  return null;
end $$;
