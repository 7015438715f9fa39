-- Numbers of dead letters that were not retried, by type and error pattern, counted like job_counts: triggers append
-- changes, a fold adds them up.
create table dead_letter_changes (
  tenant_id uuid,
  job_type_name text not null,
  error_pattern text not null,
  n integer not null,
  written_in xid8 not null default pg_current_xact_id()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
create index dead_letter_changes_order on dead_letter_changes (written_in);
insert into count_folds (changes) values ('dead_letter_changes');
create table dead_letter_counts (
  scope uuid not null,
  job_type_name text not null,
  error_pattern text not null,
  n bigint not null,
  constraint dead_letter_counts_pkey primary key (scope, job_type_name, error_pattern)
);
create view dead_letter_deltas as
  select tenant_id, job_type_name, error_pattern, n from dead_letter_changes
  where written_in >= (select folded_to from count_folds where changes = 'dead_letter_changes');

-- Times of the first and last dead letter of a group, in a tenant and in all.
drop index dead_letter_jobs_alike;
create index dead_letter_jobs_alike on dead_letter_jobs (tenant_id, job_type_name, error_pattern, failed_at)
  where retried_at is null;
create index dead_letter_jobs_alike_anywhere on dead_letter_jobs (job_type_name, error_pattern, failed_at)
  where retried_at is null;

create function count_dead_letters() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    insert into dead_letter_changes
    select tenant_id, job_type_name, error_pattern, -count(*) from before where retried_at is null group by 1, 2, 3;
  end if;
  if tg_op <> 'DELETE' then
    insert into dead_letter_changes
    select tenant_id, job_type_name, error_pattern, count(*) from after where retried_at is null group by 1, 2, 3;
  end if;
  return null;
end $$;
create trigger dead_letter_jobs_count_insert after insert on dead_letter_jobs
  referencing new table as after for each statement execute function count_dead_letters();
create trigger dead_letter_jobs_count_update after update on dead_letter_jobs
  referencing old table as before new table as after for each statement execute function count_dead_letters();
create trigger dead_letter_jobs_count_delete after delete on dead_letter_jobs
  referencing old table as before for each statement execute function count_dead_letters();

insert into dead_letter_counts
select scope, job_type_name, error_pattern, count(*) from dead_letter_jobs
cross join lateral (values
  (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000')), ('ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
) scopes (scope)
where retried_at is null group by 1, 2, 3;
