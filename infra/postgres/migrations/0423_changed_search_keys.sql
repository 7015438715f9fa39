-- Previous version: may run.
-- An erasure changes the searchable arguments of jobs. Other updates do not name the column, so they do not run the trigger.
create function change_job_search_keys() returns trigger language plpgsql as $$
begin
  delete from job_search_keys where job_id = old.id and key in (select job_search_keys_of(null, old.search_keys));
  insert into job_search_keys
  select key, coalesce(new.tenant_id, '00000000-0000-0000-0000-000000000000'), new.id
  from job_search_keys_of(null, new.search_keys) keys (key) on conflict do nothing;
  return null;
end $$;
create trigger jobs_change_search_keys after update of search_keys on jobs for each row
  when (old.search_keys is distinct from new.search_keys) execute function change_job_search_keys();
