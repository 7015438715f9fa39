-- Previous version: may run. Create ordered webhook endpoints after it has stopped.
-- Ordered endpoints get the events about one object one after the other. `order_key` is a hash of the object; null: the
-- delivery waits for no other. The sequence orders deliveries across instances, whose clocks differ.
alter table webhook_endpoints add column ordered boolean not null default false;
create sequence webhook_delivery_order;
alter table webhook_deliveries add column order_key uuid, add column order_number bigint;
create index webhook_deliveries_ordered on webhook_deliveries (endpoint_id, order_key, order_number)
  where order_key is not null and status = 'Pending';

-- Lists over all tenants find rare states, templates and texts without a pass over all rows. The states are those off the usual
-- way, so that sending a message writes neither index.
create index notifications_unusual on notifications (status, id)
  where status in ('Pending', 'Failed', 'DeadLettered', 'Scheduled', 'Cancelled');
create index notifications_returned on notifications (delivery_state, id) where delivery_state in ('Bounced', 'Complained');
create index report_executions_unusual on report_executions (status, id) where status in (4, 6);
create index report_executions_undelivered on report_executions (delivery_status, id)
  where delivery_status in ('Pending', 'Partly', 'Failed');
create index report_executions_template on report_executions (template_id, id);
create index notification_templates_order on notification_templates (slug, lower(locale), tenant_id, id);
create index notification_templates_search on notification_templates using gin (fold(slug || ' ' || name) gin_trgm_ops);
