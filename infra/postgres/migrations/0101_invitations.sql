-- Invitations of persons to a tenant. A mailed link has the token; its hash is stored.
create table invitations (
  id uuid primary key,
  tenant_id uuid not null references tenants (id),
  email text not null,
  first_name text not null,
  last_name text not null,
  role_ids uuid[] not null,
  status text not null default 'Pending',
  invited_by uuid not null,
  token_hash bytea not null,
  accepted_user_id uuid,
  version integer not null default 1,
  created_at timestamptz(3) not null default now(),
  sent_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  accepted_at timestamptz(3),
  -- Expired is stored only when a new invitation of the same email replaces a pending one that has expired
  constraint invitations_status check (status in ('Pending', 'Accepted', 'Revoked', 'Expired')),
  constraint invitations_accepted check ((status = 'Accepted') = (accepted_at is not null))
);
create unique index invitations_open_unique on invitations (lower(email), tenant_id) where status = 'Pending';
create unique index invitations_token_unique on invitations (token_hash);
create index invitations_tenant on invitations (tenant_id, id);
create index invitations_expiry on invitations (expires_at);

with layout (html) as (values ($html$<!doctype html>
<html lang="[[locale]]">
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
</style><title>[[subject]]</title></head>
<body class="page" style="margin:0;padding:0;background:#f2f4f7">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="page" bgcolor="#f2f4f7" style="background:#f2f4f7"><tr><td align="center" class="around" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="card" bgcolor="#ffffff" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px;border-collapse:separate"><tr><td class="inside" style="text-align:left;padding:32px;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1c2430">
<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3">[[subject]]</h1>
<p style="margin:0 0 12px">[[hello]]{{#if firstName}} {{firstName}}{{/if}},</p>
<p style="margin:0 0 12px">[[body]]</p>
<table role="presentation" cellpadding="0" cellspacing="0" style="margin:28px 0 20px"><tr>
<td bgcolor="#1f4fd8" style="background:#1f4fd8;border-radius:6px;mso-padding-alt:12px 22px"><a href="{{invitationUrl}}" style="display:inline-block;padding:12px 22px;color:#ffffff;font-size:16px;line-height:20px;font-weight:600;text-decoration:none">[[action]]</a></td>
</tr></table>
<p style="margin:0 0 4px;font-size:13px;color:#5f6b7a" class="quiet">[[copy]]</p>
<p style="margin:0 0 16px;font-size:13px;word-break:break-all"><a href="{{invitationUrl}}" class="link" style="color:#1f4fd8">{{invitationUrl}}</a></p>
<p style="margin:24px 0 0;padding-top:16px;border-top:1px solid #e1e5eb;font-size:13px;color:#5f6b7a" class="quiet">[[end]]</p>
</td></tr></table>
</td></tr></table>
</body>
</html>$html$)),
mails (id, locale, name, subject, hello, body, action, copy, ending) as (values
('00000000-0000-7000-8000-000000010101'::uuid, 'en', 'Invitation', 'Invitation to {{tenantName}}', 'Hello',
  'You are invited to {{tenantName}}. Accept with the link below{{#if expiresInDays}}; it works once and for {{expiresInDays}} days{{/if}}.',
  'Accept the invitation', 'If the button does not work, copy this address into your browser:',
  'If you do not know why you got this, ignore this message: nothing happens.'),
('00000000-0000-7000-8000-000000010102', 'pt', 'Convite', 'Convite para {{tenantName}}', 'Olá',
  'Foi convidado para {{tenantName}}. Aceite com a ligação abaixo{{#if expiresInDays}}; funciona uma só vez e durante {{expiresInDays}} dias{{/if}}.',
  'Aceitar o convite', 'Se o botão não funcionar, copie este endereço para o navegador:',
  'Se não sabe porque recebeu esta mensagem, ignore-a: nada acontece.'))
insert into notification_templates (id, slug, name, locale, required_variables, subject_template,
  html_body_template, text_body_template)
select m.id, 'invitation', m.name, m.locale, 'invitationUrl,tenantName', m.subject,
  replace(replace(replace(replace(replace(replace(replace(layout.html, '[[locale]]', m.locale),
    '[[subject]]', m.subject), '[[hello]]', m.hello), '[[body]]', m.body), '[[action]]', m.action),
    '[[copy]]', m.copy), '[[end]]', m.ending),
  concat(m.hello, '{{#if firstName}} {{firstName}}{{/if}},', e'\n\n', m.body, e'\n\n', m.action,
    e':\n{{invitationUrl}}\n\n', m.ending)
from mails m, layout;
