-- Mails about an account: what changed (to its owner), and the link that confirms a new email.
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
</style><title>[[title]]</title></head>
<body class="page" style="margin:0;padding:0;background:#f2f4f7">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="page" bgcolor="#f2f4f7" style="background:#f2f4f7"><tr><td align="center" class="around" style="padding:32px 16px">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0" class="card" bgcolor="#ffffff" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px;border-collapse:separate"><tr><td class="inside" style="text-align:left;padding:32px;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5;color:#1c2430">
<h1 style="margin:0 0 20px;font-size:22px;line-height:1.3">[[title]]</h1>
<p style="margin:0 0 12px">[[hello]]{{#if firstName}} {{firstName}}{{/if}},</p>
<p style="margin:0 0 12px">[[body]]</p>
[[button]]<p style="margin:24px 0 0;padding-top:16px;border-top:1px solid #e1e5eb;font-size:13px;color:#5f6b7a" class="quiet">[[end]]</p>
</td></tr></table>
</td></tr></table>
</body>
</html>$html$)),
button (html) as (values ($html$<table role="presentation" cellpadding="0" cellspacing="0" style="margin:28px 0 20px"><tr>
<td bgcolor="#1f4fd8" style="background:#1f4fd8;border-radius:6px;mso-padding-alt:12px 22px"><a href="{{confirmUrl}}" style="display:inline-block;padding:12px 22px;color:#ffffff;font-size:16px;line-height:20px;font-weight:600;text-decoration:none">[[action]]</a></td>
</tr></table>
<p style="margin:0 0 16px;font-size:13px;word-break:break-all"><a href="{{confirmUrl}}" class="link" style="color:#1f4fd8">{{confirmUrl}}</a></p>
$html$)),
mails (id, slug, name, locale, required_variables, title, hello, body, action, ending) as (values
('00000000-0000-7000-8000-000000009501'::uuid, 'account-change', 'Account change', 'en', 'title,text', '{{title}}', 'Hello',
  '{{text}}{{#if at}} ({{at | date:"yyyy-MM-dd HH:mm"}} UTC){{/if}}', null,
  'If this was not you, set a new password at once and tell your administrator.'),
('00000000-0000-7000-8000-000000009502', 'account-change', 'Alteração da conta', 'pt', 'title,text', '{{title}}', 'Olá',
  '{{text}}{{#if at}} ({{at | date:"yyyy-MM-dd HH:mm"}} UTC){{/if}}', null,
  'Se não foi você, defina já uma nova palavra-passe e avise o seu administrador.'),
('00000000-0000-7000-8000-000000009503', 'email-change', 'Email change', 'en', 'confirmUrl', 'Confirm your new email', 'Hello',
  'Someone, probably you, asked to use {{newEmail}} as the email of an account. Confirm it with the link below{{#if expiresInMinutes}}; it works once and for {{expiresInMinutes}} minutes{{/if}}.',
  'Confirm the email', 'If you did not ask for this, ignore this message: nothing changes.'),
('00000000-0000-7000-8000-000000009504', 'email-change', 'Alteração do email', 'pt', 'confirmUrl', 'Confirme o seu novo email', 'Olá',
  'Alguém, provavelmente você, pediu para usar {{newEmail}} como email de uma conta. Confirme-o com a ligação abaixo{{#if expiresInMinutes}}; funciona uma só vez e durante {{expiresInMinutes}} minutos{{/if}}.',
  'Confirmar o email', 'Se não fez este pedido, ignore esta mensagem: nada muda.'))
insert into notification_templates (id, slug, name, locale, required_variables, subject_template,
  html_body_template, text_body_template)
select m.id, m.slug, m.name, m.locale, m.required_variables, m.title,
  replace(replace(replace(replace(replace(replace(layout.html,
    '[[button]]', case when m.action is null then '' else replace(button.html, '[[action]]', m.action) end),
    '[[locale]]', m.locale), '[[title]]', m.title), '[[hello]]', m.hello), '[[body]]', m.body), '[[end]]', m.ending),
  concat(m.hello, '{{#if firstName}} {{firstName}}{{/if}},', e'\n\n', m.body, e'\n\n',
    case when m.action is null then '' else concat(m.action, e':\n{{confirmUrl}}\n\n') end, m.ending)
from mails m, layout, button;
