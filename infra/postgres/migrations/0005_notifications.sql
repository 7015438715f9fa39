-- Messages, who they go to, what was tried; templates; in-app notifications.
create type notification_channel as enum ('Email', 'Push', 'InApp', 'Sms');
create type notification_status as enum
  ('Pending', 'Queued', 'Sending', 'Sent', 'Failed', 'DeadLettered', 'Scheduled', 'Cancelled');
create type notification_priority as enum ('Low', 'Normal', 'High', 'Critical');

create table notifications (
  id uuid primary key,
  tenant_id uuid,
  channel notification_channel not null,
  status notification_status not null,
  priority notification_priority not null default 'Normal',
  subject text,
  html_body text,
  text_body text,
  template_slug text,
  template_locale text,
  template_version integer,
  template_data jsonb,
  category text,
  from_address text,
  from_name text,
  recipient_count integer not null,
  retry_count integer not null default 0,
  max_retries integer not null default 3,
  scheduled_at timestamptz,
  sent_at timestamptz,
  last_error text,
  job_id uuid,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index notifications_tenant on notifications (tenant_id, id);
create index notifications_tenant_status on notifications (tenant_id, status, id);

create table notification_recipients (
  id uuid primary key,
  notification_id uuid not null references notifications (id) on delete cascade,
  kind text not null default 'to',
  address text not null,
  display_name text,
  status text not null default 'Owed',
  sent_at timestamptz,
  error_message text,
  constraint notification_recipients_kind_known check (kind in ('to', 'cc', 'bcc')),
  constraint notification_recipients_status_known check (status in ('Owed', 'Sent', 'Refused'))
);
create index notification_recipients_notification on notification_recipients (notification_id, id);

create table notification_attachments (
  notification_id uuid not null references notifications (id) on delete cascade,
  position smallint not null,
  file_id uuid not null,
  file_name text not null,
  content_type text not null,
  constraint notification_attachments_pkey primary key (notification_id, position)
);

create table notification_attempts (
  notification_id uuid not null references notifications (id) on delete cascade,
  attempt_number integer not null,
  provider_name text not null,
  is_success boolean not null,
  duration_ms integer not null,
  attempted_at timestamptz not null,
  error_message text,
  constraint notification_attempts_pkey primary key (notification_id, attempt_number)
);

create table notification_templates (
  id uuid primary key,
  tenant_id uuid,
  slug text not null,
  name text not null,
  locale text not null,
  subject_template text,
  html_body_template text,
  text_body_template text,
  required_variables text not null default '',
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create unique index notification_templates_slug_unique on notification_templates
  (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), slug, lower(locale));

create table user_notifications (
  id uuid primary key,
  tenant_id uuid,
  user_id uuid not null,
  notification_id uuid,
  title text not null,
  body text not null,
  icon text,
  category text,
  action_url text,
  priority notification_priority not null default 'Normal',
  is_read boolean not null default false,
  read_at timestamptz,
  created_at timestamptz not null default now(),
  constraint user_notifications_once unique (notification_id, user_id)
);
create index user_notifications_user on user_notifications (user_id, id);
create index user_notifications_unread on user_notifications (user_id) where not is_read;
