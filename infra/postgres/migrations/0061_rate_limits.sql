-- Jobs of a type with a rate limit wait in hidden lanes, which no claim searches, until tokens of their bucket release
-- them. See domain/jobs/README.md.
alter table jobs
  -- The token bucket of the job: its type and the value of the limit's key; null: no rate limit.
  add column bucket text;
-- Released jobs that have not started. At most as many as their bucket has tokens.
create index jobs_released on jobs (bucket) where bucket is not null and status = 'Enqueued' and lane < '§';

create table job_buckets (
  bucket text primary key,
  -- When the bucket is full again if nothing starts until then.
  full_at timestamptz(3) not null,
  -- When its waiting jobs are looked at again; null: none waits.
  next_at timestamptz(3),
  -- When jobs were released last.
  released_at timestamptz(3)
);
create index job_buckets_next on job_buckets (next_at) where next_at is not null;

-- What happened to jobs with a bucket and is not in job_buckets yet. Only inserted, so that nobody waits.
create table job_bucket_events (
  bucket text not null,
  -- Start of an attempt, which takes a token; null: a job waits.
  started_at timestamptz(3)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

create function hidden_lane(bucket text, tenant_id uuid, queue text) returns text language sql immutable
  return '§' || bucket || '|' || coalesce(tenant_id::text, '') || '|' || queue;

-- A job that waits again, for a retry or because its worker crashed, needs a token again.
create function hide_rate_limited_job() returns trigger language plpgsql as $$
begin
  new.lane := hidden_lane(new.bucket, new.tenant_id, new.queue);
  return new;
end $$;
create trigger jobs_hide_rate_limited before update of status on jobs for each row
  when (new.bucket is not null and new.status = 'Enqueued' and old.status <> 'Enqueued')
  execute function hide_rate_limited_job();

create function note_bucket_event() returns trigger language plpgsql as $$
begin
  insert into job_bucket_events values (new.bucket, case when new.status = 'Processing' then clock_timestamp() end);
  return null;
end $$;
create trigger jobs_bucket_event after insert or update of status on jobs for each row
  when (new.bucket is not null and new.status in ('Enqueued', 'Processing'))
  execute function note_bucket_event();
