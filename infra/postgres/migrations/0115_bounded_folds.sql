-- Counters are folded in batches. Each delta names the transaction that wrote it, so a fold starts where the last one
-- ended. Otherwise it would read all deltas again that were folded while an old snapshot was held.
alter table job_count_deltas rename to job_count_changes;
alter table job_batch_deltas rename to job_batch_changes;
alter table execution_count_deltas rename to execution_count_changes;

alter table job_count_changes add column written_in xid8 not null default '0';
alter table job_batch_changes add column written_in xid8 not null default '0';
alter table execution_count_changes add column written_in xid8 not null default '0';
alter table job_count_changes alter column written_in set default pg_current_xact_id();
alter table job_batch_changes alter column written_in set default pg_current_xact_id();
alter table execution_count_changes alter column written_in set default pg_current_xact_id();
create index job_count_changes_order on job_count_changes (written_in);
create index job_batch_changes_order on job_batch_changes (written_in);
create index execution_count_changes_order on execution_count_changes (written_in);

-- Changes that transactions before `folded_to` wrote are in the counters. `folded_at`: when none was left.
create table count_folds (
  changes text primary key,
  folded_to xid8 not null default '0',
  folded_at timestamptz(3) not null default now()
) with (fillfactor = 50);
insert into count_folds (changes) values ('job_count_changes'), ('job_batch_changes'), ('execution_count_changes');

-- The changes that are not in the counters yet.
create view job_count_deltas as
  select tenant_id, status, type, priority, queue, job_type_name, n from job_count_changes
  where written_in >= (select folded_to from count_folds where changes = 'job_count_changes');
create view job_batch_deltas as
  select batch_id, status, n from job_batch_changes
  where written_in >= (select folded_to from count_folds where changes = 'job_batch_changes');
create view execution_count_deltas as
  select tenant_id, n, duration_ms, minute, failed, abandoned from execution_count_changes
  where written_in >= (select folded_to from count_folds where changes = 'execution_count_changes');
