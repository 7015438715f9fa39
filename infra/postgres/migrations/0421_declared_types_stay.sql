-- Previous version: may run.
-- Keeps declared job types until the transaction ends: each holds a shared lock, which a deletion waits for. True, or the
-- violation of `jobs_declared_type` if one has been deleted. Each statement of the function sees what has been committed.
create function require_job_types(types uuid[], names text[], seed bigint) returns boolean language plpgsql as $$
declare
  name text;
begin
  foreach name in array names loop
    perform pg_advisory_xact_lock_shared(hashtextextended(name, seed));
  end loop;
  if (select count(*) from job_types where id = any(types) and deleted_at is null) < cardinality(types) then
    raise foreign_key_violation using schema = 'public', constraint = 'jobs_declared_type',
      message = 'a declared job type of the new jobs has been deleted';
  end if;
  return true;
end $$;
