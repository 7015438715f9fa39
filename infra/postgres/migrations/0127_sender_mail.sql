-- The mail with the link that proves a sender address. The default layout surrounds its HTML.
insert into notification_templates (id, slug, name, locale, required_variables, subject_template,
  html_body_template, text_body_template)
select id, 'sender-confirmation', name, locale, 'address,requestedBy,confirmUrl', subject,
  concat('<h1>', subject, '</h1>', e'\n<p>', body, e'</p>\n<p><a class="button" href="{{confirmUrl}}">', action,
    e'</a></p>\n<p class="quiet">', ending, '</p>'),
  concat(body, e'\n\n', action, e':\n{{confirmUrl}}\n\n', ending)
from (values
('00000000-0000-7000-8000-000000012701'::uuid, 'en', 'Sender confirmation', 'Confirm {{address}} as a sender',
  '{{requestedBy}} asks to send mail from {{address}}. Whoever confirms allows it.',
  'Confirm the address',
  'The link works once and for 24 hours. If you do not know {{requestedBy}}, ignore this message: nothing happens.'),
('00000000-0000-7000-8000-000000012702', 'pt', 'Confirmação de remetente', 'Confirme {{address}} como remetente',
  '{{requestedBy}} pede para enviar mensagens de {{address}}. Quem confirmar autoriza-o.',
  'Confirmar o endereço',
  'A ligação funciona uma só vez e durante 24 horas. Se não conhece {{requestedBy}}, ignore esta mensagem: nada acontece.'))
as mail (id, locale, name, subject, body, action, ending);
