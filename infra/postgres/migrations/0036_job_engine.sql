-- Since when a job has found a dependency away at every attempt; null: not now. Bounds how long that is waited out.
alter table jobs add column outage_since timestamptz(3);
-- How often a worker lost its lease while it held the job; the first time does not count as a failed attempt.
alter table jobs add column lost_leases smallint not null default 0;

-- Claims take turns between lanes; within a lane the order is priority, due time, id.
drop index jobs_ready;
create index jobs_ready on jobs (lane, priority, due_at, id) where status = 'Enqueued';

-- File scans take only a part of a worker's places, so they wait in lanes of their own.
update jobs set limit_key = job_type_name, lane = queue || '|' || job_type_name || '|' || coalesce(tenant_id::text, '')
where job_type_name = 'files.scan' and status not in ('Succeeded', 'DeadLettered', 'Cancelled');
