-- Replaced signing secrets of job types. They also sign until valid_until. See domain/jobs/README.md.
create table job_type_old_secrets (
  job_type_id uuid not null references job_types (id),
  secret text not null,
  valid_until timestamptz(3) not null,
  primary key (job_type_id, secret)
);
