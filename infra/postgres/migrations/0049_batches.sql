-- Continuations of several parents have parent_job_ids instead of parent_job_id.
alter table jobs add column parent_job_ids uuid[];
alter table jobs drop constraint jobs_awaiting_have_parent;
alter table jobs add constraint jobs_awaiting_have_parent
  check (status <> 'AwaitingParent' or parent_job_id is not null or parent_job_ids is not null);
create index jobs_fan_in on jobs using gin (parent_job_ids) where parent_job_ids is not null;

-- Batches of jobs. See domain/jobs/README.md for their states.
create table job_batches (
  id uuid primary key,
  tenant_id uuid,
  name text,
  status text not null,
  -- The jobs to enqueue when all jobs succeeded, and when the first one is dead-lettered or cancelled; null: none.
  on_all_succeeded jsonb,
  on_any_failed jsonb,
  on_all_succeeded_job_id uuid,
  on_any_failed_job_id uuid,
  created_by uuid,
  created_at timestamptz(3) not null default now(),
  -- When its status became final. Jobs may still run then.
  ended_at timestamptz(3),
  constraint job_batches_status_known check (status in ('Open', 'Running', 'Succeeded', 'Failed', 'Cancelled')),
  constraint job_batches_ended_when_final check ((status in ('Open', 'Running')) = (ended_at is null))
);
create index job_batches_tenant on job_batches (tenant_id, id);
create index job_batches_unended on job_batches (id) where status in ('Open', 'Running');
alter table jobs add column batch_id uuid;
-- Answers whether a batch has unfinished or failed jobs by one probe per status. Jobs without a batch are not in it.
create index jobs_batch on jobs (batch_id, status, id) where batch_id is not null;

-- How many jobs of a batch have each status, counted like job_counts: triggers append deltas, a fold adds them up.
-- Pruned jobs stay counted.
create table job_batch_deltas (
  batch_id uuid not null,
  status job_status not null,
  n integer not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create table job_batch_counts (
  batch_id uuid not null,
  status job_status not null,
  n bigint not null,
  constraint job_batch_counts_pkey primary key (batch_id, status)
) with (fillfactor = 70);

create function count_inserted_batch_jobs() returns trigger language plpgsql as $$
begin
  if exists (select from added where batch_id is not null) then
    insert into job_batch_deltas
    select batch_id, status, count(*) from added where batch_id is not null group by 1, 2;
  end if;
  return null;
end $$;
create trigger jobs_batch_count_insert after insert on jobs referencing new table as added
  for each statement execute function count_inserted_batch_jobs();

create function count_updated_batch_jobs() returns trigger language plpgsql as $$
begin
  if exists (select from after where batch_id is not null) then
    insert into job_batch_deltas
    select batch_id, status, sum(n) from (
      select batch_id, status, -1 as n from before where batch_id is not null
      union all
      select batch_id, status, 1 from after where batch_id is not null
    ) changed group by 1, 2 having sum(n) <> 0;
  end if;
  return null;
end $$;
create trigger jobs_batch_count_update after update on jobs referencing old table as before new table as after
  for each statement execute function count_updated_batch_jobs();
