-- The shipped mails follow the reader's colour scheme, leave narrow screens more room, keep the line breaks of a
-- report's message and give Outlook's renderer a button as large as everyone's. Templates an operator has changed
-- since (their version is no longer 1) are left alone.
update notification_templates set version = 2, html_body_template =
  replace(replace(replace(replace(replace(replace(replace(replace(replace(html_body_template,
    '<meta name="viewport" content="width=device-width">',
    $css$<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark">
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
</style>$css$),
    '<body style="', '<body class="page" style="'),
    'cellspacing="0" style="background:#f2f4f7"><tr><td align="center" style="',
    'cellspacing="0" class="page" bgcolor="#f2f4f7" style="background:#f2f4f7"><tr><td align="center" class="around" style="'),
    'cellspacing="0" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px"><tr><td style="',
    'cellspacing="0" class="card" bgcolor="#ffffff" style="max-width:560px;background:#ffffff;border:1px solid #e1e5eb;border-radius:10px;border-collapse:separate"><tr><td class="inside" style="text-align:left;'),
    '<td style="background:#1f4fd8;border-radius:6px">',
    '<td bgcolor="#1f4fd8" style="background:#1f4fd8;border-radius:6px;mso-padding-alt:12px 22px">'),
    'font-size:13px;color:#5f6b7a">', 'font-size:13px;color:#5f6b7a" class="quiet">'),
    'style="color:#1f4fd8">', 'class="link" style="color:#1f4fd8">'),
    '<p style="margin:0 0 12px">{{#if message}}', '<p style="margin:0 0 12px;white-space:pre-line">{{#if message}}'),
    'color:#ffffff;font-weight:600;text-decoration:none">',
    'color:#ffffff;font-size:16px;line-height:20px;font-weight:600;text-decoration:none">')
where tenant_id is null and version = 1 and slug in ('password-reset', 'report-ready');
