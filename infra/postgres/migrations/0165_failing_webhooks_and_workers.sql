-- The list of webhook endpoints can show those that fail.
alter table webhook_endpoints add column is_failing boolean not null
  generated always as (disabled_reason is not null or failing_since is not null and is_active) stored;
-- The program of a worker: product and version, as its User-Agent names them.
alter table job_workers add column program text;
alter table job_workers add constraint job_workers_program_length check (char_length(program) <= 200);
