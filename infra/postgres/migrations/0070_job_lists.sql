-- Lists of jobs in the order of their last start, as fast as the other orders. Ended jobs get their entry when they end.
-- Jobs that wait for a further attempt are few, and running ones are sorted when they are read. So a claim writes neither.
create index jobs_started on jobs (started_at, id) where completed_at is not null and started_at is not null;
create index jobs_restarting on jobs (started_at, id)
  where status in ('Enqueued', 'Scheduled', 'Failed') and started_at is not null;

-- Which stretches of the table contain a trace. The stretches and their filters are so small that filters are not
-- compressed (see 0056). Vacuum adds new stretches; until then a search reads them.
create index jobs_traces on jobs using brin (trace_id text_bloom_ops (n_distinct_per_range = 384))
  with (pages_per_range = 16);

-- `name=value` of arguments that the job type marks as searchable; null: none.
alter table jobs add column search_keys text[];

-- Jobs by creator and by searchable arguments. An index on jobs would be written at every change of a job; these rows are
-- written once. They come and go with their jobs.
create table job_search_keys (
  -- MD5 of `createdBy=…` or `args.name=…`.
  key uuid not null,
  -- A tenant; all zeros for the service's own jobs.
  scope uuid not null,
  job_id uuid not null,
  constraint job_search_keys_pkey primary key (key, scope, job_id)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);

create function job_search_keys_of(created_by uuid, search_keys text[]) returns setof uuid language sql immutable as $$
  select md5('createdBy=' || created_by)::uuid where created_by is not null
  union all
  select md5('args.' || search_key)::uuid from unnest(search_keys) search_key
$$;

insert into job_search_keys
select md5('createdBy=' || created_by)::uuid, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), id
from jobs where created_by is not null;

create or replace function count_inserted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_deltas
  select tenant_id, status, type, priority, queue, job_type_name, count(*) from added group by 1, 2, 3, 4, 5, 6;
  insert into job_search_keys
  select keys.key, coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), id
  from added cross join lateral job_search_keys_of(created_by, search_keys) keys (key)
  where created_by is not null or search_keys is not null
  on conflict do nothing;
  return null;
end $$;

create or replace function count_deleted_jobs() returns trigger language plpgsql as $$
begin
  insert into job_count_deltas
  select tenant_id, status, type, priority, queue, job_type_name, -count(*) from removed group by 1, 2, 3, 4, 5, 6;
  delete from job_search_keys k
  using removed r cross join lateral job_search_keys_of(r.created_by, r.search_keys) keys (key)
  where k.key = keys.key and k.job_id = r.id
    and k.scope = coalesce(r.tenant_id, '00000000-0000-0000-0000-000000000000');
  return null;
end $$;
