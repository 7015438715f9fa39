-- How far each maintenance job is. `progress` has its works of the unfinished pass; `due_at` is the time from which that
-- pass has been due, or the next one.
create table maintenance_works (
  job_type_name text primary key,
  progress jsonb not null default '{}',
  version int not null default 0,
  due_at timestamptz(3) not null default now()
);
-- Maintenance finds its rows by an index.
create index webhook_secrets_replaced on webhook_secrets (valid_until) where valid_until is not null;
create index event_interests_polled on event_interests (polled_at);
create index notification_counts_shards on notification_counts (day) where shard <> 0;
create index notification_hour_counts_shards on notification_hour_counts (hour) where shard <> 0;
