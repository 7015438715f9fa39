-- A platform endpoint gets the events of all tenants.
alter table webhook_endpoints add column all_tenants boolean not null default false;
create index webhook_endpoints_of_all_tenants on webhook_endpoints (all_tenants) where is_active and all_tenants;

-- Which of the events that are only stored on demand polls have asked for.
create table event_interests (
  -- null: all tenants
  tenant_id uuid,
  type text not null,
  polled_at timestamptz(3) not null default now(),
  constraint event_interests_unique unique nulls not distinct (tenant_id, type)
);
