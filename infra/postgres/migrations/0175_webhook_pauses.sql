-- Paused endpoints keep their deliveries. `held`: the delivery has no job until its endpoint is resumed.
alter table webhook_endpoints
  add column paused_at timestamptz(3),
  add column paused_by uuid,
  add column pause_reason text,
  add column last_error text,
  add column last_error_at timestamptz(3),
  add constraint webhook_endpoints_paused check (paused_at is not null or num_nonnulls(paused_by, pause_reason) = 0);

alter table webhook_deliveries add column held boolean not null default false;
create index webhook_deliveries_held on webhook_deliveries (endpoint_id, id) where status = 'Pending' and held;
create index webhook_deliveries_due on webhook_deliveries (next_attempt_at) where status = 'Pending' and not held;
drop index webhook_deliveries_overdue;

-- Attempts by endpoint and hour. `shard` keeps transactions from waiting for each other. Without a foreign key, so that
-- counting never waits for an endpoint that is being deleted.
create table webhook_attempt_counts (
  endpoint_id uuid not null,
  hour timestamptz(3) not null,
  shard smallint not null,
  delivered int not null default 0,
  failed int not null default 0,
  primary key (endpoint_id, hour, shard)
);
create index webhook_attempt_counts_by_hour on webhook_attempt_counts (hour);
