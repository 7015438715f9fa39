alter table notifications add column reply_to text;

-- is_held: the message holds a reference to the file, in the scope `notifications`.
alter table notification_attachments
  add column is_inline boolean not null default false,
  add column is_held boolean not null default false;

create index notification_attachments_held on notification_attachments (notification_id) where is_held;
