-- Jobs that processes of callers hold, each with a lease of its own. See domain/jobs/README.md.
alter table jobs
  -- End of the lease of a remote worker; null: the job does not run, or a worker of the service runs it.
  add column lease_until timestamptz(3),
  -- When the running attempt times out.
  add column deadline timestamptz(3),
  -- requestId of the claim that took the job.
  add column claim_request_id uuid,
  -- Number of the last attempt that was postponed: it has no execution.
  add column postponed_attempt integer,
  -- When a caller asked to cancel the running attempt.
  add column cancel_requested_at timestamptz(3),
  add constraint jobs_lease_while_processing check (lease_until is null or status = 'Processing') not valid,
  add constraint jobs_lease_with_deadline check ((lease_until is null) = (deadline is null)) not valid;
create index jobs_leased on jobs (lease_until) where lease_until is not null;

-- How a remote worker settled the attempt; null: it did not.
alter table job_executions add column outcome text;

-- A remote worker claims through any instance. `host` is the name it gives.
alter table job_workers add column is_remote boolean not null default false;
