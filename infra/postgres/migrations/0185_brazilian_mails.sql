-- The built-in Portuguese templates use the words of Brazil.
with recursive words (n, before, after) as (values
  (1, 'Reposição da palavra-passe', 'Redefinição de senha'),
  (2, 'Reponha a sua palavra-passe', 'Redefina sua senha'),
  (3, 'a sua palavra-passe', 'sua senha'),
  (4, 'palavra-passe', 'senha'),
  (5, 'para a sua conta', 'para sua conta'),
  (6, 'defina já', 'defina imediatamente'),
  (7, 'o seu administrador', 'seu administrador'),
  (8, 'o seu novo email', 'seu novo e-mail'),
  (9, 'do email', 'do e-mail'),
  (10, 'o email', 'o e-mail'),
  (11, 'como email', 'como e-mail'),
  (12, 'a ligação', 'o link'),
  (13, 'A ligação', 'O link'),
  (14, 'Descarregar', 'Baixar'),
  (15, 'para si', 'para você'),
  (16, 'subscrição', 'inscrição'),
  (17, 'as suas preferências', 'suas preferências'),
  (18, 'com o seu endereço', 'com seu endereço'),
  (19, 'Foi convidado para', 'Você foi convidado para'),
  (20, 'porque recebeu', 'por que recebeu'),
  (21, 'O relatório que pediu', 'O relatório que você pediu'),
  (22, 'Recebe est', 'Você recebe est'),
  (23, 'Se não fez', 'Se você não fez')),
replaced (id, n, name, subject, html, text) as (
  select id, 0, name, subject_template, html_body_template, text_body_template
  from notification_templates where tenant_id is null and locale = 'pt'
  union all
  select r.id, w.n, replace(r.name, w.before, w.after), replace(r.subject, w.before, w.after),
    replace(r.html, w.before, w.after), replace(r.text, w.before, w.after)
  from replaced r join words w on w.n = r.n + 1)
update notification_templates t
set name = r.name, subject_template = r.subject, html_body_template = r.html, text_body_template = r.text,
  version = t.version + 1, updated_at = now()
from replaced r
where r.id = t.id and r.n = (select max(n) from words)
  and (r.name, r.subject, r.html, r.text)
    is distinct from (t.name, t.subject_template, t.html_body_template, t.text_body_template);
