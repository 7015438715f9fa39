import { sectionTexts } from "../shared/labels.ts";
import { counted, withCount } from "../shared/languages.ts";

/** Texts of the message list, the message page and the send form. */
export const notificationTexts = sectionTexts({
  section: ["Notifications", "Notificações"],
  title: ["Messages", "Mensagens"],
  caption: [
    "Messages, newest first",
    "Mensagens, as mais recentes primeiro",
  ],
  send: ["Send a message", "Enviar uma mensagem"],
  statistics: ["Messages by status", "Mensagens por estado"],
  total: ["All", "Todas"],
  message: ["Message", "Mensagem"],
  noSubject: ["(no subject)", "(sem assunto)"],
  recipientsCaption: ["Recipients and the delivery to each", "Destinatários e a entrega a cada um"],
  created: ["Created", "Criada"],
  sent: ["Sent", "Enviada"],
  scheduledFor: ["Scheduled for", "Agendada para"],
  sender: ["Sender", "Remetente"],
  templateVersion: (slug: string, locale: string, version: number) => [
    `${slug} · ${locale} · version ${version}`,
    `${slug} · ${locale} · versão ${version}`,
  ],
  templateUnfilled: (slug: string) => [`${slug} (rendered when sent)`, `${slug} (preenchido no envio)`],
  retry: ["Send again", "Reenviar"],
  retried: [
    "The message was queued again for recipients who have not received it.",
    "A mensagem foi colocada de novo na fila, para quem ainda não a recebeu.",
  ],
  cancelSending: ["Cancel message", "Cancelar mensagem"],
  cancelConfirm: (recipients: number, place: string) => [
    `Cancel 1 scheduled message to ${
      withCount("en", recipients, "recipient", "recipients")
    } ${place}? It will not be sent.`,
    `Cancelar 1 mensagem agendada para ${
      withCount("pt", recipients, "destinatário", "destinatários")
    } ${place}? Não será enviada.`,
  ],
  cancelled: ["The message was cancelled.", "A mensagem foi cancelada."],
  empty: ["No messages yet", "Ainda não há mensagens"],
  emptyText: ["Messages appear here when they are sent.", "As mensagens aparecem aqui quando são enviadas."],
  waits: ["quiet hours until", "horas de silêncio até"],
  moreRecipients: (count: string) => [`and ${count} more`, `e mais ${count}`],
  reported: ["Reported", "Comunicado"],
  attachments: ["Attachments", "Anexos"],
  cc: ["copy", "cópia"],
  bcc: ["blind copy", "cópia oculta"],
  bodyExpired: [
    "The content was deleted. The message cannot be sent again.",
    "O conteúdo foi excluído. A mensagem não pode ser reenviada.",
  ],
  suppressedTitle: ["Suppressed recipients", "Destinatários suprimidos"],
  attemptCount: counted(
    ["delivery attempt.", "delivery attempts."],
    ["tentativa de entrega.", "tentativas de entrega."],
  ),
  isSuppressed: (address: string, since: string, why: string) => [
    `${address} is suppressed since ${since} because ${why}: it is skipped.`,
    `${address} está suprimido desde ${since} por causa ${why}: não recebe.`,
  ],
  isTriedAgain: (address: string, since: string, why: string) => [
    `${address} is suppressed since ${since} because ${why}. This message tries it again.`,
    `${address} está suprimido desde ${since} por causa ${why}. Esta mensagem tenta de novo.`,
  ],
  moreSuppressed: (count: number) => [`${count} more are suppressed.`, `Mais ${count} estão suprimidos.`],
  retryConfirm: (recipients: number, place: string) => [
    `Send the message again to ${
      withCount("en", recipients, "recipient", "recipients")
    } ${place} who did not receive it?`,
    `Reenviar a mensagem a ${withCount("pt", recipients, "destinatário", "destinatários")} ${place} sem ela?`,
  ],
  suppressedLink: ["Open the suppressed address", "Abrir o endereço suprimido"],
  attempts: ["Delivery attempts", "Tentativas de entrega"],
  accepted: ["accepted", "aceite"],
  failed: ["failed", "falhou"],
  content: ["Content", "Conteúdo"],
  htmlBody: ["HTML body", "Corpo HTML"],
  htmlFrame: [
    "HTML body as the recipient sees it. Scripts and external content are blocked.",
    "Corpo HTML como o destinatário o vê. Os scripts e o conteúdo externo estão bloqueados.",
  ],
  textBody: ["Text body", "Corpo em texto"],
  noContent: [
    "The message has no content, or it must not be shown.",
    "A mensagem não tem conteúdo, ou ele não pode ser mostrado.",
  ],
  renderedLater: [
    "The template is rendered when the message is sent.",
    "O modelo é preenchido quando a mensagem é enviada.",
  ],
  neverRendered: [
    "The message was not sent, so its template was not rendered.",
    "A mensagem não foi enviada, por isso o modelo não foi preenchido.",
  ],
  users: ["Users of this tenant", "Usuários deste inquilino"],
  usersHint: [
    "Search by name or email. Each user's preferences decide whether they receive the message.",
    "Busque pelo nome ou e-mail. As preferências de cada usuário decidem se recebe a mensagem.",
  ],
  findUsers: ["Search users", "Buscar usuários"],
  noUsersFound: ["No users found.", "Nenhum usuário encontrado."],
  addresses: ["Addresses", "Endereços"],
  addressesHint: [
    "One per line, such as Ana Sousa <ana@example.com>, +351912345678 or a device token.",
    "Um por linha, como Ana Sousa <ana@example.com>, +5511912345678 ou o código de um dispositivo.",
  ],
  ownText: ["Write the text", "Escrever o texto"],
  aTemplate: ["Use a template", "Usar um modelo"],
  dataHint: ["Values of the template's variables.", "Valores das variáveis do modelo."],
  dataInvalid: [
    "This is not a JSON object. Correct it and try again.",
    "Isto não é um objeto JSON. Corrija-o e tente de novo.",
  ],
  categoryHint: [
    "Users choose the categories they receive. A message without a category is always sent.",
    "Os usuários escolhem as categorias que recebem. Uma mensagem sem categoria é sempre enviada.",
  ],
  actionUrl: ["Link", "Link"],
  actionUrlHint: [
    "An http or https URL that the message opens.",
    "Um URL http ou https que a mensagem abre.",
  ],
  sendAt: ["Send at", "Enviar em"],
  sendIt: ["Send", "Enviar"],
  isSent: ["The message was queued.", "A mensagem foi colocada na fila."],
  isScheduled: ["The message was scheduled.", "A mensagem foi agendada."],
  previewText: ["Text version", "Versão em texto"],
  fillIn: ["The preview appears as you type.", "A pré-visualização aparece enquanto escreve."],
  usedSample: ["Sample data used", "Dados de exemplo usados"],
});
