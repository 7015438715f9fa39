-- Recipients of a document are often customers, who asked for nothing and get invoices as well as reports.
with recursive words (n, before, after) as (values
  (1, '{{reportName}} is ready', '{{reportName}}: your document'),
  (2, 'The report you asked for has been made{{#if downloadUrl}}{{else}} and is attached to this message{{/if}}.',
    'The document “{{reportName}}” {{#if downloadUrl}}is ready for download{{else}}is attached to this message{{/if}}.'),
  (3, 'Download the report', 'Download the document'),
  (4, 'because the report was asked for or scheduled with your address.',
    'because your address was given as a recipient of this document.'),
  (5, 'O relatório {{reportName}} está pronto', '{{reportName}}: seu documento'),
  (6, 'O relatório que você pediu foi gerado{{#if downloadUrl}}{{else}} e segue em anexo{{/if}}.',
    'O documento “{{reportName}}” {{#if downloadUrl}}está disponível para baixar{{else}}segue em anexo{{/if}}.'),
  (7, 'Baixar o relatório', 'Baixar o documento'),
  (8, 'porque o relatório foi pedido ou agendado com seu endereço.',
    'porque seu endereço foi indicado como destinatário deste documento.')),
replaced (id, n, subject, html, text) as (
  select id, 0, subject_template, html_body_template, text_body_template
  from notification_templates where tenant_id is null and slug = 'report-ready' and locale in ('en', 'pt')
  union all
  select r.id, w.n, replace(r.subject, w.before, w.after), replace(r.html, w.before, w.after),
    replace(r.text, w.before, w.after)
  from replaced r join words w on w.n = r.n + 1)
update notification_templates t
set subject_template = r.subject, html_body_template = r.html, text_body_template = r.text, version = t.version + 1,
  updated_at = now()
from replaced r
where r.id = t.id and r.n = (select max(n) from words)
  and (r.subject, r.html, r.text) is distinct from (t.subject_template, t.html_body_template, t.text_body_template);
