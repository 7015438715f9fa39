-- Previous version: may run.
-- Jobs in the order of their duration, marks of deploys, and indexes of the timelines of a trace and of a user.
create index jobs_duration on jobs ((completed_at - started_at), id) where completed_at - started_at is not null;

create table deploy_marks (
  id uuid primary key,
  label text not null,
  at timestamptz(3) not null,
  -- Set by the first instance that starts with this version of the service; null: a person made the mark.
  version text,
  created_by uuid,
  constraint deploy_marks_version_unique unique (version)
);
create index deploy_marks_at on deploy_marks (at, id);

create index audit_log_traces on audit_log using brin (trace_id text_bloom_ops (n_distinct_per_range = 384))
  with (pages_per_range = 16);
create index files_by_creator on files (created_by, id) where created_by is not null;
create index report_executions_by_creator on report_executions (created_by, id) where created_by is not null;
