-- Changes that transactions before `folded_to` wrote are in the counters, except those of transactions that ran during the
-- last fold. Otherwise a transaction that stays open would keep `folded_to` back, and folds and sums would read all changes
-- again that were folded meanwhile.
alter table count_folds add column running xid8[] not null default '{}';

create or replace view job_count_deltas as
  select tenant_id, status, type, priority, queue, job_type_name, n from job_count_changes
  where written_in >= (select folded_to from count_folds where changes = 'job_count_changes')
    or written_in = any((select running from count_folds where changes = 'job_count_changes')::xid8[]);
create or replace view job_batch_deltas as
  select batch_id, status, n from job_batch_changes
  where written_in >= (select folded_to from count_folds where changes = 'job_batch_changes')
    or written_in = any((select running from count_folds where changes = 'job_batch_changes')::xid8[]);
create or replace view execution_count_deltas as
  select tenant_id, n, duration_ms, minute, failed, abandoned from execution_count_changes
  where written_in >= (select folded_to from count_folds where changes = 'execution_count_changes')
    or written_in = any((select running from count_folds where changes = 'execution_count_changes')::xid8[]);
create or replace view dead_letter_deltas as
  select tenant_id, job_type_name, error_pattern, n from dead_letter_changes
  where written_in >= (select folded_to from count_folds where changes = 'dead_letter_changes')
    or written_in = any((select running from count_folds where changes = 'dead_letter_changes')::xid8[]);
