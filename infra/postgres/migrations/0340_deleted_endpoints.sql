-- A deleted endpoint is hidden at once. The upkeep deletes its deliveries in batches, and then its row.
alter table webhook_endpoints add column deleted_at timestamptz(3);
alter table webhook_endpoints add constraint webhook_endpoints_deleted_inactive
  check (deleted_at is null or not is_active) not valid;
alter table webhook_endpoints validate constraint webhook_endpoints_deleted_inactive;
create index webhook_endpoints_deleted on webhook_endpoints (id) where deleted_at is not null;
