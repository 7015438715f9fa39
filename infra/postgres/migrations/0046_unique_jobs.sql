-- A job enqueued with a key holds it until it ends, or for unique_seconds since its creation. At most one job of a tenant
-- and type holds a key. Jobs without a key are not in the index.
alter table jobs
  add column unique_key text,
  add column unique_seconds integer,
  -- True once another job could take the key after unique_seconds.
  add column is_key_released boolean not null default false;
create unique index jobs_unique_key on jobs
  (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), job_type_name, unique_key)
  where unique_key is not null and not is_key_released
    and (unique_seconds is not null or status not in ('Succeeded', 'DeadLettered', 'Cancelled'));

alter table recurring_jobs add column unique_key text, add column unique_seconds integer;
