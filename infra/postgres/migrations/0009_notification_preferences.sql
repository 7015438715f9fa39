-- What users want and what addresses can take: preferences, suppressed addresses, digests. A recipient may be a user,
-- and may end Skipped, or Collected until a digest goes out. domain/notifications/README.md tells the rules.
alter table notification_recipients
  -- The user the service knows behind the address.
  add column user_id uuid,
  -- True where the message was sent to the user, so that the address is the user's at the time of delivery.
  add column follows_user boolean not null default false,
  -- Set while the recipient waits for the user's quiet hours to end.
  add column deliver_after timestamptz,
  -- Why it was skipped, as a word for programs; error_message says it in a sentence.
  add column reason text,
  add column digest_id uuid,
  drop constraint notification_recipients_status_known,
  add constraint notification_recipients_status_known
    check (status in ('Owed', 'Sent', 'Refused', 'Skipped', 'Collected')),
  add constraint notification_recipients_reason_known
    check (reason in ('OptedOut', 'Suppressed', 'NoAddress', 'NotAUser')),
  add constraint notification_recipients_collected check (status <> 'Collected' or digest_id is not null);
create index notification_recipients_digest on notification_recipients (digest_id, id) where digest_id is not null;

-- Messages that wait for digests only.
create index notifications_pending on notifications (id) where status = 'Pending';

-- What a user wants. Without a row: everything, at once.
create table notification_preferences (
  user_id uuid primary key,
  time_zone_id text not null default 'UTC',
  -- Minutes of the day on the user's clocks; quiet hours may go past midnight.
  quiet_from smallint,
  quiet_to smallint,
  -- By category in lower case: {"news": {"Email": false, "Push": true, "InApp": true, "Sms": true}}.
  categories jsonb not null default '{}',
  has_digest boolean not null default false,
  digest_at smallint not null default 480,
  digest_locale text,
  version integer not null default 1,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint notification_preferences_quiet check ((quiet_from is null) = (quiet_to is null)
    and quiet_from between 0 and 1439 and quiet_to between 0 and 1439 and quiet_from <> quiet_to
    or quiet_from is null and quiet_to is null),
  constraint notification_preferences_digest_at check (digest_at between 0 and 1439)
);

-- Addresses a tenant's messages no longer go to. The nil tenant stands for the service itself.
create table notification_suppressions (
  id uuid primary key,
  tenant_key uuid not null,
  channel notification_channel not null,
  address text not null,
  -- The form that tells whether two addresses are the same.
  address_key text not null,
  reason text not null,
  detail text,
  -- The message whose refusal brought it about; null where somebody added it.
  notification_id uuid,
  created_by uuid,
  created_at timestamptz not null default now(),
  constraint notification_suppressions_address_unique unique (tenant_key, channel, address_key),
  constraint notification_suppressions_channel_known check (channel in ('Email', 'Sms')),
  constraint notification_suppressions_reason_known
    check (reason in ('HardBounce', 'Unsubscribed', 'Complaint', 'Manual'))
);
create index notification_suppressions_tenant on notification_suppressions (tenant_key, id);

-- Messages of low priority that wait for one mail to their user. At most one digest of a user is open.
create table notification_digests (
  id uuid primary key,
  tenant_key uuid not null,
  user_id uuid not null,
  due_at timestamptz not null,
  -- The job that closes it.
  job_id uuid,
  closed_at timestamptz,
  -- The mail it became; null where nobody was left to get one.
  notification_id uuid,
  -- When what became of that mail was passed on to the messages in it.
  settled_at timestamptz,
  created_at timestamptz not null default now(),
  constraint notification_digests_closed check (closed_at is not null or notification_id is null),
  constraint notification_digests_settled check (closed_at is not null or settled_at is null)
);
create unique index notification_digests_open on notification_digests (tenant_key, user_id) where closed_at is null;
create index notification_digests_unsettled on notification_digests (due_at) where settled_at is null;
create index notification_digests_notification on notification_digests (notification_id)
  where notification_id is not null and settled_at is null;

-- The key unsubscribe links are signed with. It is made here so that all instances share it, and so that links in
-- mail read months later outlive the rotation of the keys that sign tokens.
create table notification_link_key (
  id smallint primary key default 1,
  secret bytea not null,
  constraint notification_link_key_single check (id = 1)
);
insert into notification_link_key (secret)
select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

insert into notification_templates (id, slug, name, locale, required_variables, subject_template,
  html_body_template, text_body_template) values
('00000000-0000-7000-8000-000000000901', 'notification-digest', 'Digest', 'en', 'items',
$subject${{#if isSingle}}One message for you{{else}}{{count}} messages for you{{/if}}$subject$,
$html$<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (max-width: 480px) {
  .around { padding: 12px 8px !important; }
  .inside { padding: 24px 20px !important; }
}
@media (prefers-color-scheme: dark) {
  .page { background: #0f141b !important; }
  .card { background: #1a212b !important; border-color: #2f3a48 !important; }
  .inside, .inside h1, .inside p { color: #e7ebf1 !important; border-color: #2f3a48 !important; }
  .inside .quiet { color: #a3afbd !important; }
  .inside a.link { color: #93b4ff !important; }
}
</style><title>Your digest</title></head>
<body class="page" style="margin:0;padding:0;background:#f2f4f7">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="page" bgcolor="#f2f4f7" style="background:#f2f4f7"><tr><td align="center" class="around" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="card" bgcolor="#ffffff" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px;border-collapse:separate"><tr><td class="inside" style="text-align:left;padding:32px;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1c2430">
<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3">Your digest</h1>
<p style="margin:0 0 12px">Hello{{#if firstName}} {{firstName}}{{/if}},</p>
<p style="margin:0 0 12px">{{#if isSingle}}There is one message for you{{else}}There are {{count}} messages for you{{/if}}.</p>
{{#each items}}
<p style="margin:20px 0 4px;padding-top:16px;border-top:1px solid #e1e5eb;font-weight:600">{{subject}}</p>
<p style="margin:0 0 4px;white-space:pre-line">{{text}}</p>
<p style="margin:0;font-size:13px;color:#5f6b7a" class="quiet">{{category}} · <a href="{{unsubscribeUrl}}" class="link" style="color:#1f4fd8">Unsubscribe</a></p>
{{/each}}
<p style="margin:24px 0 0;padding-top:16px;border-top:1px solid #e1e5eb;font-size:13px;color:#5f6b7a" class="quiet">You get this summary because your preferences collect messages of low priority.</p>
</td></tr></table>
</td></tr></table>
</body>
</html>$html$,
$text$Hello{{#if firstName}} {{firstName}}{{/if}},

{{#if isSingle}}There is one message for you{{else}}There are {{count}} messages for you{{/if}}.
{{#each items}}

* {{subject}}
{{text}}
Unsubscribe: {{unsubscribeUrl}}
{{/each}}

You get this summary because your preferences collect messages of low priority.$text$),
('00000000-0000-7000-8000-000000000902', 'notification-digest', 'Resumo', 'pt', 'items',
$subject${{#if isSingle}}Uma mensagem para si{{else}}{{count}} mensagens para si{{/if}}$subject$,
$html$<!doctype html>
<html lang="pt">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
<style>
:root { color-scheme: light dark; supported-color-schemes: light dark; }
@media (max-width: 480px) {
  .around { padding: 12px 8px !important; }
  .inside { padding: 24px 20px !important; }
}
@media (prefers-color-scheme: dark) {
  .page { background: #0f141b !important; }
  .card { background: #1a212b !important; border-color: #2f3a48 !important; }
  .inside, .inside h1, .inside p { color: #e7ebf1 !important; border-color: #2f3a48 !important; }
  .inside .quiet { color: #a3afbd !important; }
  .inside a.link { color: #93b4ff !important; }
}
</style><title>O seu resumo</title></head>
<body class="page" style="margin:0;padding:0;background:#f2f4f7">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="page" bgcolor="#f2f4f7" style="background:#f2f4f7"><tr><td align="center" class="around" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="card" bgcolor="#ffffff" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px;border-collapse:separate"><tr><td class="inside" style="text-align:left;padding:32px;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1c2430">
<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3">O seu resumo</h1>
<p style="margin:0 0 12px">Olá{{#if firstName}} {{firstName}}{{/if}},</p>
<p style="margin:0 0 12px">{{#if isSingle}}Há uma mensagem para si{{else}}Há {{count}} mensagens para si{{/if}}.</p>
{{#each items}}
<p style="margin:20px 0 4px;padding-top:16px;border-top:1px solid #e1e5eb;font-weight:600">{{subject}}</p>
<p style="margin:0 0 4px;white-space:pre-line">{{text}}</p>
<p style="margin:0;font-size:13px;color:#5f6b7a" class="quiet">{{category}} · <a href="{{unsubscribeUrl}}" class="link" style="color:#1f4fd8">Cancelar a subscrição</a></p>
{{/each}}
<p style="margin:24px 0 0;padding-top:16px;border-top:1px solid #e1e5eb;font-size:13px;color:#5f6b7a" class="quiet">Recebe este resumo porque as suas preferências juntam as mensagens de prioridade baixa.</p>
</td></tr></table>
</td></tr></table>
</body>
</html>$html$,
$text$Olá{{#if firstName}} {{firstName}}{{/if}},

{{#if isSingle}}Há uma mensagem para si{{else}}Há {{count}} mensagens para si{{/if}}.
{{#each items}}

* {{subject}}
{{text}}
Cancelar a subscrição: {{unsubscribeUrl}}
{{/each}}

Recebe este resumo porque as suas preferências juntam as mensagens de prioridade baixa.$text$);
