-- Previous version: may run.
-- True for the one claim that may take jobs for a worker's requestId: no other transaction holds `lock`, and no job is held by
-- a claim with it. Each statement of the function sees what has been committed until then.
create function is_first_claim(worker uuid, request uuid, lock bigint) returns boolean language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock(lock) then return false; end if;
  return not exists (select from jobs
    where worker_id = worker and claim_request_id = request and status = 'Processing' and lease_until > now());
end $$;
