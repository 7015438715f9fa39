-- What the provider reported after it accepted a message, beside the status.
alter table notifications
  add column delivery_state text,
  add constraint notifications_delivery_state_known check (delivery_state in ('Delivered', 'Bounced', 'Complained'));

-- tenant_key: null in rows of the previous version, until notifications.sweep fills it. Updates leave the indexed columns
-- alone, so free space in a page keeps them from writing to the indexes.
alter table notification_recipients
  add column tenant_key uuid,
  add column delivery_state text,
  add column delivery_state_at timestamptz(3),
  add column delivery_detail text,
  add constraint notification_recipients_delivery_state_known
    check (delivery_state in ('Delivered', 'Bounced', 'Complained'));
alter table notification_recipients set (fillfactor = 80);

-- A push token is longer than an index entry may be.
create index notification_recipients_address on notification_recipients
  (tenant_key, left(lower(address), 320) text_pattern_ops, notification_id);
create index notification_recipients_user on notification_recipients (tenant_key, user_id, notification_id)
  where user_id is not null;
create index notification_recipients_without_tenant on notification_recipients (id) where tenant_key is null;

create index notifications_template on notifications (tenant_id, template_slug, created_at, id)
  where template_slug is not null;
create index notifications_category on notifications (tenant_id, lower(category), created_at, id)
  where category is not null;
create index notifications_delivery_state on notifications (tenant_id, delivery_state, created_at, id)
  where delivery_state is not null;
