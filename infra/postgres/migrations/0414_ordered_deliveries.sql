-- Previous version: may run. Create ordered webhook endpoints after it has stopped.
-- Ordered endpoints get the events about one object one after the other. `order_key` is a hash of the object; null: the
-- delivery waits for no other. The sequence orders deliveries across instances, whose clocks differ.
alter table webhook_endpoints add column ordered boolean not null default false;
create sequence webhook_delivery_order;
alter table webhook_deliveries add column order_key uuid, add column order_number bigint;
create index webhook_deliveries_ordered on webhook_deliveries (endpoint_id, order_key, order_number)
  where order_key is not null and status = 'Pending';
