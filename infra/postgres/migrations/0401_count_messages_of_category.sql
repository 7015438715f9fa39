-- Previous version: may run.
-- Counting the messages of a category reads the index alone. Postgres requires the column itself beside its lower case.
drop index notifications_category;
create index notifications_category on notifications (tenant_id, lower(category), created_at, id)
  include (category, channel, status) where category is not null;
