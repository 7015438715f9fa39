-- What lists of jobs need at a million rows, chosen by what it costs to drain jobs: the first holds the few that are
-- scheduled, the second is written once a job, when it ends. An index by started_at would be written twice a job, which
-- costs a tenth of the pace; that order is sorted when it is asked for.
create index jobs_scheduled on jobs (scheduled_at, id) where scheduled_at is not null;
create index jobs_completed on jobs (completed_at, id) where completed_at is not null;

-- Which stretches of the table hold which queues and types, so that few among millions are found without reading all.
-- It costs next to nothing to keep.
create index jobs_kinds on jobs using brin (queue text_bloom_ops, job_type_name text_bloom_ops)
  with (autosummarize = on);

-- An error with what varies between occurrences (ids, numbers) written as #: what dead letters are grouped by, worked
-- out once and not for every row of every look.
alter table dead_letter_jobs add column error_pattern text generated always as (left(regexp_replace(
  coalesce(error_message, ''), '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9]+', '#', 'gi'), 300)) stored;
create index dead_letter_jobs_alike on dead_letter_jobs (tenant_id, job_type_name, error_pattern)
  include (failed_at, retried_at);

-- The failed deliveries of an endpoint, which are what its log is looked at for.
create index webhook_deliveries_by_status on webhook_deliveries (endpoint_id, status, id);
