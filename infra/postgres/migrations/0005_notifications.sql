-- Messages, who they go to, what was tried; templates; in-app notifications. The state machine is drawn in
-- domain/notifications/README.md.
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
  locale text,
  template_slug text,
  template_locale text,
  template_version integer,
  template_data jsonb,
  push_data jsonb,
  category text,
  icon text,
  action_url text,
  from_address text,
  from_name text,
  -- Content that must not be read back, such as a sign-in link: never shown, and dropped once it was sent.
  is_confidential boolean not null default false,
  recipient_count integer not null,
  retry_count integer not null default 0,
  max_retries integer not null default 3,
  scheduled_at timestamptz,
  sent_at timestamptz,
  last_error text,
  -- The job that delivers it, and the attempt of that job that holds it while it is Sending.
  job_id uuid,
  job_attempt integer not null default 0,
  created_by uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
) with (fillfactor = 80);
create index notifications_created on notifications (tenant_id, created_at, id);
create index notifications_status on notifications (tenant_id, status, created_at, id);
create index notifications_channel on notifications (tenant_id, channel, created_at, id);
create index notifications_open on notifications (id)
  where status in ('Queued', 'Scheduled', 'Sending', 'Failed');

-- How many messages a tenant has by day (UTC), channel and status, so that stats and lists need not count rows.
-- Each database session adds to a shard of its own, so that senders do not wait for one another; what is read is the
-- sum of the shards, and a shard alone may well be negative.
create table notification_counts (
  tenant_key uuid not null,
  day date not null,
  channel notification_channel not null,
  status notification_status not null,
  shard smallint not null,
  count bigint not null,
  constraint notification_counts_pkey primary key (tenant_key, day, channel, status, shard)
) with (fillfactor = 50);

create function count_notifications() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into notification_counts as c (tenant_key, day, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), (created_at at time zone 'UTC')::date,
      channel, status, pg_backend_pid() % 32, count(*)
    from come group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_key, day, channel, status, shard) do update set count = c.count + excluded.count;
  elsif tg_op = 'DELETE' then
    insert into notification_counts as c (tenant_key, day, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), (created_at at time zone 'UTC')::date,
      channel, status, pg_backend_pid() % 32, -count(*)
    from gone group by 1, 2, 3, 4 order by 1, 2, 3, 4
    on conflict (tenant_key, day, channel, status, shard) do update set count = c.count + excluded.count;
  else
    insert into notification_counts as c (tenant_key, day, channel, status, shard, count)
    select coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), (created_at at time zone 'UTC')::date,
      channel, status, pg_backend_pid() % 32, sum(delta)
    from (select tenant_id, created_at, channel, status, 1 as delta from come
          union all select tenant_id, created_at, channel, status, -1 from gone) changed
    group by 1, 2, 3, 4 having sum(delta) <> 0 order by 1, 2, 3, 4
    on conflict (tenant_key, day, channel, status, shard) do update set count = c.count + excluded.count;
  end if;
  return null;
end $$;
create trigger notifications_count_insert after insert on notifications
  referencing new table as come for each statement execute function count_notifications();
create trigger notifications_count_update after update on notifications
  referencing old table as gone new table as come for each statement execute function count_notifications();
create trigger notifications_count_delete after delete on notifications
  referencing old table as gone for each statement execute function count_notifications();

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
  constraint notification_recipients_status_known check (status in ('Owed', 'Sent', 'Refused')),
  constraint notification_recipients_sent_at check ((status = 'Sent') = (sent_at is not null))
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

-- One row each time a provider was tried; their order is that of their ids.
create table notification_attempts (
  id uuid primary key,
  notification_id uuid not null references notifications (id) on delete cascade,
  provider_name text not null,
  is_success boolean not null,
  duration_ms integer not null,
  attempted_at timestamptz not null,
  error_message text
);
create index notification_attempts_notification on notification_attempts (notification_id, id);

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
  updated_at timestamptz not null default now(),
  constraint notification_templates_some_text
    check (coalesce(subject_template, html_body_template, text_body_template) is not null)
);
create unique index notification_templates_slug_unique on notification_templates
  (coalesce(tenant_id, '00000000-0000-0000-0000-000000000000'), slug, lower(locale));
create index notification_templates_tenant on notification_templates (tenant_id, slug, locale);

-- The locale a tenant's messages fall back to when none of the wanted ones has the template.
create table notification_settings (
  tenant_id uuid primary key,
  default_locale text not null,
  updated_at timestamptz not null default now()
);

-- The number of a user's latest in-app notification. Its row is locked while one is added, so that a user's numbers
-- become visible in their order and a stream that goes on after a number misses nothing.
create table user_notification_streams (
  user_id uuid primary key,
  last_seq bigint not null
) with (fillfactor = 50);

create table user_notifications (
  id uuid primary key,
  tenant_id uuid,
  user_id uuid not null,
  seq bigint not null,
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
  constraint user_notifications_once unique (notification_id, user_id),
  constraint user_notifications_read_at check (is_read = (read_at is not null))
);
create unique index user_notifications_user on user_notifications (user_id, seq);
create index user_notifications_category on user_notifications (user_id, category, seq);
create index user_notifications_unread on user_notifications (user_id, seq) where not is_read;

-- How many in-app notifications a user has by category, all and unread.
create table user_notification_counts (
  user_id uuid not null,
  category text not null,
  total bigint not null,
  unread bigint not null,
  constraint user_notification_counts_pkey primary key (user_id, category)
) with (fillfactor = 50);

create function count_user_notifications() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into user_notification_counts as c (user_id, category, total, unread)
    select user_id, coalesce(category, ''), count(*), count(*) filter (where not is_read)
    from come group by 1, 2 order by 1, 2
    on conflict (user_id, category) do update
      set total = c.total + excluded.total, unread = c.unread + excluded.unread;
  elsif tg_op = 'DELETE' then
    insert into user_notification_counts as c (user_id, category, total, unread)
    select user_id, coalesce(category, ''), -count(*), -count(*) filter (where not is_read)
    from gone group by 1, 2 order by 1, 2
    on conflict (user_id, category) do update
      set total = c.total + excluded.total, unread = c.unread + excluded.unread;
  else
    insert into user_notification_counts as c (user_id, category, total, unread)
    select user_id, coalesce(category, ''), sum(delta), coalesce(sum(delta) filter (where not is_read), 0)
    from (select user_id, category, is_read, 1 as delta from come
          union all select user_id, category, is_read, -1 from gone) changed
    group by 1, 2 order by 1, 2
    on conflict (user_id, category) do update
      set total = c.total + excluded.total, unread = c.unread + excluded.unread;
  end if;
  return null;
end $$;
create trigger user_notifications_count_insert after insert on user_notifications
  referencing new table as come for each statement execute function count_user_notifications();
create trigger user_notifications_count_update after update on user_notifications
  referencing old table as gone new table as come for each statement execute function count_user_notifications();
create trigger user_notifications_count_delete after delete on user_notifications
  referencing old table as gone for each statement execute function count_user_notifications();

-- Devices that take a user's push messages. A token belongs to whoever registered it last.
create table user_devices (
  id uuid primary key,
  user_id uuid not null,
  token text not null,
  platform text,
  created_at timestamptz not null default now(),
  constraint user_devices_token_unique unique (token)
);
create index user_devices_user on user_devices (user_id, id);

-- The templates the service ships. A tenant overrides one by a template of its own with the same slug.
insert into notification_templates (id, slug, name, locale, required_variables, subject_template,
  html_body_template, text_body_template) values
('00000000-0000-7000-8000-000000000001', 'password-reset', 'Password reset', 'en', 'resetUrl',
$subject$Reset your password$subject$,
$html$<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Reset your password</title></head>
<body style="margin:0;padding:0;background:#f2f4f7">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f2f4f7"><tr><td align="center" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px"><tr><td style="padding:32px;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1c2430">
<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3">Reset your password</h1>
<p style="margin:0 0 12px">Hello{{#if firstName}} {{firstName}}{{/if}},</p>
<p style="margin:0 0 12px">Someone, probably you, asked for a new password for your account. Choose one with the button below{{#if expiresInMinutes}}; the link works once and for {{expiresInMinutes}} minutes{{/if}}.</p>
<table role="presentation" cellpadding="0" cellspacing="0" style="margin:28px 0 20px"><tr>
<td style="background:#1f4fd8;border-radius:6px"><a href="{{resetUrl}}" style="display:inline-block;padding:12px 22px;color:#ffffff;font-weight:600;text-decoration:none">Choose a new password</a></td>
</tr></table>
<p style="margin:0 0 4px;font-size:13px;color:#5f6b7a">If the button does not work, copy this address into your browser:</p>
<p style="margin:0 0 16px;font-size:13px;word-break:break-all"><a href="{{resetUrl}}" style="color:#1f4fd8">{{resetUrl}}</a></p>
<p style="margin:24px 0 0;padding-top:16px;border-top:1px solid #e1e5eb;font-size:13px;color:#5f6b7a">If you did not ask for this, ignore this message: your password stays as it is.</p>
</td></tr></table>
</td></tr></table>
</body>
</html>$html$,
$text$Hello{{#if firstName}} {{firstName}}{{/if}},

Someone, probably you, asked for a new password for your account. Choose one with the link below{{#if expiresInMinutes}}; the link works once and for {{expiresInMinutes}} minutes{{/if}}.

Choose a new password:
{{resetUrl}}

If you did not ask for this, ignore this message: your password stays as it is.$text$),
('00000000-0000-7000-8000-000000000002', 'password-reset', 'Reposição da palavra-passe', 'pt', 'resetUrl',
$subject$Reponha a sua palavra-passe$subject$,
$html$<!doctype html>
<html lang="pt">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Reponha a sua palavra-passe</title></head>
<body style="margin:0;padding:0;background:#f2f4f7">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f2f4f7"><tr><td align="center" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px"><tr><td style="padding:32px;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1c2430">
<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3">Reponha a sua palavra-passe</h1>
<p style="margin:0 0 12px">Olá{{#if firstName}} {{firstName}}{{/if}},</p>
<p style="margin:0 0 12px">Alguém, provavelmente você, pediu uma nova palavra-passe para a sua conta. Escolha-a com o botão abaixo{{#if expiresInMinutes}}; a ligação funciona uma só vez e durante {{expiresInMinutes}} minutos{{/if}}.</p>
<table role="presentation" cellpadding="0" cellspacing="0" style="margin:28px 0 20px"><tr>
<td style="background:#1f4fd8;border-radius:6px"><a href="{{resetUrl}}" style="display:inline-block;padding:12px 22px;color:#ffffff;font-weight:600;text-decoration:none">Escolher nova palavra-passe</a></td>
</tr></table>
<p style="margin:0 0 4px;font-size:13px;color:#5f6b7a">Se o botão não funcionar, copie este endereço para o navegador:</p>
<p style="margin:0 0 16px;font-size:13px;word-break:break-all"><a href="{{resetUrl}}" style="color:#1f4fd8">{{resetUrl}}</a></p>
<p style="margin:24px 0 0;padding-top:16px;border-top:1px solid #e1e5eb;font-size:13px;color:#5f6b7a">Se não fez este pedido, ignore esta mensagem: a sua palavra-passe não muda.</p>
</td></tr></table>
</td></tr></table>
</body>
</html>$html$,
$text$Olá{{#if firstName}} {{firstName}}{{/if}},

Alguém, provavelmente você, pediu uma nova palavra-passe para a sua conta. Escolha-a com a ligação abaixo{{#if expiresInMinutes}}; funciona uma só vez e durante {{expiresInMinutes}} minutos{{/if}}.

Escolher nova palavra-passe:
{{resetUrl}}

Se não fez este pedido, ignore esta mensagem: a sua palavra-passe não muda.$text$),
('00000000-0000-7000-8000-000000000003', 'report-ready', 'Report ready', 'en', 'reportName',
$subject${{reportName}} is ready$subject$,
$html$<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{reportName}} is ready</title></head>
<body style="margin:0;padding:0;background:#f2f4f7">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f2f4f7"><tr><td align="center" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px"><tr><td style="padding:32px;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1c2430">
<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3">{{reportName}} is ready</h1>
<p style="margin:0 0 12px">Hello{{#if firstName}} {{firstName}}{{/if}},</p>
<p style="margin:0 0 12px">{{#if message}}{{message}}{{else}}The report you asked for has been made{{#if downloadUrl}}{{else}} and is attached to this message{{/if}}.{{/if}}</p>
{{#if downloadUrl}}
<table role="presentation" cellpadding="0" cellspacing="0" style="margin:28px 0 20px"><tr>
<td style="background:#1f4fd8;border-radius:6px"><a href="{{downloadUrl}}" style="display:inline-block;padding:12px 22px;color:#ffffff;font-weight:600;text-decoration:none">Download the report</a></td>
</tr></table>
<p style="margin:0 0 4px;font-size:13px;color:#5f6b7a">If the button does not work, copy this address into your browser:</p>
<p style="margin:0 0 16px;font-size:13px;word-break:break-all"><a href="{{downloadUrl}}" style="color:#1f4fd8">{{downloadUrl}}</a></p>
{{/if}}
{{#if expiresAt}}<p style="margin:0 0 16px;font-size:13px;color:#5f6b7a">The link works until {{expiresAt}}.</p>{{/if}}
<p style="margin:24px 0 0;padding-top:16px;border-top:1px solid #e1e5eb;font-size:13px;color:#5f6b7a">You get this message because the report was asked for or scheduled with your address.</p>
</td></tr></table>
</td></tr></table>
</body>
</html>$html$,
$text$Hello{{#if firstName}} {{firstName}}{{/if}},

{{#if message}}{{message}}{{else}}The report you asked for has been made{{#if downloadUrl}}{{else}} and is attached to this message{{/if}}.{{/if}}

{{#if downloadUrl}}
Download the report:
{{downloadUrl}}
{{#if expiresAt}}The link works until {{expiresAt}}.{{/if}}

{{/if}}
You get this message because the report was asked for or scheduled with your address.$text$),
('00000000-0000-7000-8000-000000000004', 'report-ready', 'Relatório pronto', 'pt', 'reportName',
$subject$O relatório {{reportName}} está pronto$subject$,
$html$<!doctype html>
<html lang="pt">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>O relatório {{reportName}} está pronto</title></head>
<body style="margin:0;padding:0;background:#f2f4f7">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="background:#f2f4f7"><tr><td align="center" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px"><tr><td style="padding:32px;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1c2430">
<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3">O relatório {{reportName}} está pronto</h1>
<p style="margin:0 0 12px">Olá{{#if firstName}} {{firstName}}{{/if}},</p>
<p style="margin:0 0 12px">{{#if message}}{{message}}{{else}}O relatório que pediu foi gerado{{#if downloadUrl}}{{else}} e segue em anexo{{/if}}.{{/if}}</p>
{{#if downloadUrl}}
<table role="presentation" cellpadding="0" cellspacing="0" style="margin:28px 0 20px"><tr>
<td style="background:#1f4fd8;border-radius:6px"><a href="{{downloadUrl}}" style="display:inline-block;padding:12px 22px;color:#ffffff;font-weight:600;text-decoration:none">Descarregar o relatório</a></td>
</tr></table>
<p style="margin:0 0 4px;font-size:13px;color:#5f6b7a">Se o botão não funcionar, copie este endereço para o navegador:</p>
<p style="margin:0 0 16px;font-size:13px;word-break:break-all"><a href="{{downloadUrl}}" style="color:#1f4fd8">{{downloadUrl}}</a></p>
{{/if}}
{{#if expiresAt}}<p style="margin:0 0 16px;font-size:13px;color:#5f6b7a">A ligação funciona até {{expiresAt}}.</p>{{/if}}
<p style="margin:24px 0 0;padding-top:16px;border-top:1px solid #e1e5eb;font-size:13px;color:#5f6b7a">Recebe esta mensagem porque o relatório foi pedido ou agendado com o seu endereço.</p>
</td></tr></table>
</td></tr></table>
</body>
</html>$html$,
$text$Olá{{#if firstName}} {{firstName}}{{/if}},

{{#if message}}{{message}}{{else}}O relatório que pediu foi gerado{{#if downloadUrl}}{{else}} e segue em anexo{{/if}}.{{/if}}

{{#if downloadUrl}}
Descarregar o relatório:
{{downloadUrl}}
{{#if expiresAt}}A ligação funciona até {{expiresAt}}.{{/if}}

{{/if}}
Recebe esta mensagem porque o relatório foi pedido ou agendado com o seu endereço.$text$);
