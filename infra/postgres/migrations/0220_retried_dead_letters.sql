-- Retried dead letters are counted and listed by type. Those that are open have kept counts.
create index dead_letter_jobs_retried on dead_letter_jobs (job_type_name, tenant_id) where retried_at is not null;
