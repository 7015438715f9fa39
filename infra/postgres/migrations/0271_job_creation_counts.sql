-- How many jobs there are by the time of their creation, counted like job_counts. `created` is the start of the ids: its
-- seven digits change every 17 minutes. Only the counters of everything name the queue and the job type.
create table job_creation_count_changes (
  tenant_id uuid,
  created text collate "C" not null,
  status job_status not null,
  queue text not null,
  job_type_name text not null,
  n integer not null,
  written_in xid8 not null default pg_current_xact_id()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index job_creation_count_changes_order on job_creation_count_changes (written_in);
insert into count_folds (changes) values ('job_creation_count_changes');
create table job_creation_counts (
  scope uuid not null,
  created text collate "C" not null,
  status job_status not null,
  queue text not null,
  job_type_name text not null,
  n bigint not null,
  constraint job_creation_counts_pkey primary key (scope, created, status, queue, job_type_name)
);
create view job_creation_count_deltas as
  select tenant_id, created, status, queue, job_type_name, n from job_creation_count_changes
  where written_in >= (select folded_to from count_folds where changes = 'job_creation_count_changes')
    or written_in = any((select running from count_folds where changes = 'job_creation_count_changes')::xid8[]);

-- Ten million jobs: 50 s on a busy machine. Meanwhile jobs are read, but not written.
lock table jobs in share row exclusive mode;
insert into job_creation_counts
select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), left(id::text, 7), status, '', '', count(*)
from jobs group by 1, 2, 3
union all
select 'ffffffff-ffff-ffff-ffff-ffffffffffff', left(id::text, 7), status, queue, job_type_name, count(*)
from jobs group by 2, 3, 4, 5;

create function count_creations() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into job_creation_count_changes
    select tenant_id, left(id::text, 7), status, queue, job_type_name, count(*) from after group by 1, 2, 3, 4, 5;
  elsif tg_op = 'DELETE' then
    insert into job_creation_count_changes
    select tenant_id, left(id::text, 7), status, queue, job_type_name, -count(*) from before group by 1, 2, 3, 4, 5;
  else
    insert into job_creation_count_changes
    select tenant_id, left(id::text, 7), status, queue, job_type_name, sum(n) from (
      select tenant_id, id, status, queue, job_type_name, -1 as n from before
      union all
      select tenant_id, id, status, queue, job_type_name, 1 from after
    ) each group by 1, 2, 3, 4, 5 having sum(n) <> 0;
  end if;
  return null;
end $$;
create trigger jobs_count_creations_insert after insert on jobs
  referencing new table as after for each statement execute function count_creations();
create trigger jobs_count_creations_update after update on jobs
  referencing old table as before new table as after for each statement execute function count_creations();
create trigger jobs_count_creations_delete after delete on jobs
  referencing old table as before for each statement execute function count_creations();
