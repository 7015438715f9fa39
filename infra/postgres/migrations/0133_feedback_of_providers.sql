-- Requests of providers that take effect once, such as STOP replies. Deleted after NOTIFICATION_RETENTION_DAYS.
create table notification_feedback_receipts (
  provider text not null,
  receipt text not null,
  received_at timestamptz(3) not null default now(),
  constraint notification_feedback_receipts_pkey primary key (provider, receipt)
);
create index notification_feedback_receipts_received on notification_feedback_receipts (received_at);

-- Finds the last text messages to a number.
create index notification_recipients_number on notification_recipients (address, notification_id)
  where address like '+%';
