import { sectionTexts } from "../shared/labels.ts";
import { counted, defineTexts, withCount } from "../shared/languages.ts";

/** Texts of the message list, the message page and the send form. */
export const notificationTexts = sectionTexts({
  section: ["Notifications", "Notificações"],
  title: ["Messages", "Mensagens"],
  caption: ["Messages, newest first", "Mensagens, as mais recentes primeiro"],
  send: ["Send a message", "Enviar uma mensagem"],
  pauseSending: (reach: string) => [`Pause sending ${reach}`, `Pausar o envio ${reach}`],
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
  htmlFrame: [
    "HTML body as the recipient sees it. Scripts and external content are blocked.",
    "Corpo HTML como o destinatário o vê. Os scripts e o conteúdo externo estão bloqueados.",
  ],
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

export const preferenceTexts = sectionTexts({
  title: ["Notification preferences", "Preferências de notificação"],
  open: ["Choose the notifications you receive", "Escolher as notificações que recebe"],
  categories: ["Categories", "Categorias"],
  categoriesText: [
    "Untick a channel to stop receiving the category there. A category that is not listed is sent on every channel.",
    "Desmarque um canal para deixar de receber a categoria nesse canal. Uma categoria que não está na lista é enviada por todos os canais.",
  ],
  newCategory: ["New category", "Nova categoria"],
  wants: (category: string, channel: string) => [`${category}: ${channel}`, `${category}: ${channel}`],
  quiet: ["Quiet hours", "Horas de silêncio"],
  quietText: [
    "In quiet hours only critical messages are delivered. Others wait until the quiet hours end.",
    "Nas horas de silêncio só são entregues mensagens críticas. As outras esperam até ao fim.",
  ],
  hasQuiet: ["Use quiet hours", "Usar horas de silêncio"],
  from: ["From", "Das"],
  to: ["To", "Às"],
  digest: ["Daily digest", "Resumo diário"],
  digestText: [
    "Combines low-priority emails into one email a day.",
    "Junta os e-mails de prioridade baixa em um só por dia.",
  ],
  hasDigest: ["Send me a daily digest", "Receber um resumo diário"],
  at: ["At", "Às"],
  saved: ["Your preferences were saved.", "Suas preferências foram salvas."],
});

export const suppressionTexts = sectionTexts({
  title: ["Suppressed addresses", "Endereços suprimidos"],
  intro: [
    "Messages are not sent to these addresses. Mail servers or SMS gateways reported them as undeliverable, or someone added them.",
    "As mensagens não são enviadas para estes endereços. Os servidores de e-mail ou SMS indicaram que não recebem mensagens, ou alguém os adicionou.",
  ],
  caption: ["Suppressed addresses, newest first", "Endereços suprimidos, os mais recentes primeiro"],
  search: ["Search addresses", "Buscar endereços"],
  message: ["the message", "a mensagem"],
  add: ["Suppress an address", "Suprimir um endereço"],
  addIt: ["Suppress", "Suprimir"],
  added: ["The address was suppressed.", "O endereço foi suprimido."],
  removeConfirm: (address: string) => [
    `Remove ${address} from the list? Messages are then sent to it again.`,
    `Remover ${address} da lista? As mensagens voltam a ser enviadas para este endereço.`,
  ],
  removed: [
    "The address was removed. Messages are sent to it again.",
    "O endereço foi removido. As mensagens voltam a ser enviadas para ele.",
  ],
  empty: ["No suppressed addresses", "Sem endereços suprimidos"],
  emptyText: [
    "Addresses that mail servers or SMS gateways report as undeliverable are added automatically.",
    "Os endereços que os servidores de e-mail ou SMS indicam como inválidos são adicionados automaticamente.",
  ],
});

/** The reason as the end of a sentence: "is suppressed because …". */
export const suppressionBecause = defineTexts({
  HardBounce: ["of a bounce", "de uma devolução"],
  Unsubscribed: ["the recipient unsubscribed", "de o destinatário ter cancelado a inscrição"],
  Complaint: ["of a complaint", "de uma reclamação"],
  Manual: ["someone added it", "de alguém o ter adicionado"],
});

export const suppressionReasonLabels = defineTexts({
  HardBounce: ["Undeliverable address", "Endereço inválido"],
  Unsubscribed: ["Unsubscribed", "Cancelou a inscrição"],
  Complaint: ["Complaint", "Queixa"],
  Manual: ["Added manually", "Adicionado manualmente"],
});

export const looksTexts = sectionTexts({
  title: ["Looks", "Aparência"],
  intro: [
    "How mail, hosted pages and documents of the tenant look. An empty field uses the value of the service.",
    "A aparência das mensagens, páginas e documentos do inquilino. Um campo vazio usa o valor do serviço.",
  ],
  productName: ["Product name", "Nome do produto"],
  primaryColour: ["Primary colour", "Cor principal"],
  colourHint: ["Such as #1f4fd8: buttons and bars.", "Por exemplo #1f4fd8: botões e barras."],
  textColour: ["Text on the primary colour", "Texto sobre a cor principal"],
  textColourHint: [
    "Leave it empty to have a readable one chosen.",
    "Deixe vazio para que seja escolhida uma cor legível.",
  ],
  footer: ["Footer", "Rodapé"],
  saved: ["The looks were saved.", "A aparência foi salva."],
  logo: ["Logo", "Logotipo"],
  logoHint: [
    "PNG or JPEG, at most 256 KiB and 2000 × 2000 pixels.",
    "PNG ou JPEG, no máximo 256 KiB e 2000 × 2000 pixels.",
  ],
  chooseLogo: ["Image", "Imagem"],
  setLogo: ["Upload the logo", "Enviar o logotipo"],
  logoSet: ["The logo was saved.", "O logotipo foi salvo."],
  removeLogo: ["Remove the logo", "Remover o logotipo"],
  removeLogoConfirm: [
    "Remove the logo? Mail and pages then show the product name.",
    "Remover o logotipo? As mensagens e páginas mostram então o nome do produto.",
  ],
  logoRemoved: ["The logo was removed.", "O logotipo foi removido."],
  sampleTitle: ["Your order is on its way", "Seu pedido está a caminho"],
  sampleText: ["This is how a mail of the tenant looks.", "É esta a aparência de uma mensagem do inquilino."],
  sampleButton: ["Follow the order", "Acompanhar o pedido"],
  senders: ["Sender addresses", "Endereços de remetente"],
  sendersIntro: [
    "Addresses that the tenant sends mail from. Prove each with a record in the DNS of its domain, or with a link mailed to it.",
    "Endereços de que o inquilino envia mensagens. Comprove cada um com um registro no DNS do domínio ou com um link enviado para ele.",
  ],
  caption: ["Sender addresses, oldest first", "Endereços de remetente, os mais antigos primeiro"],
  method: ["Proof", "Comprovação"],
  defaultSender: ["default", "padrão"],
  verify: ["Check now", "Verificar agora"],
  mailAgain: ["Mail a new link", "Enviar novo link"],
  checked: ["The address was checked.", "O endereço foi verificado de novo."],
  makeDefault: ["Use as default", "Usar como padrão"],
  madeDefault: [
    "Mail that names no sender now comes from this address.",
    "As mensagens sem remetente indicado saem agora deste endereço.",
  ],
  removeConfirm: (address: string) => [
    `Remove ${address}? Mail no longer comes from it.`,
    `Remover ${address}? As mensagens deixam de sair dele.`,
  ],
  removed: ["The address was removed.", "O endereço foi removido."],
  add: ["Add an address", "Adicionar um endereço"],
  addIt: ["Add", "Adicionar"],
  senderNameHint: [
    "What mail programs show. Empty: the product name.",
    "O que os programas de e-mail mostram. Vazio: o nome do produto.",
  ],
  added: ["The address was added. Now prove it.", "O endereço foi adicionado. Agora comprove-o."],
  empty: ["No sender addresses", "Sem endereços de remetente"],
  emptyText: ["Mail comes from the address of the service.", "As mensagens saem do endereço do serviço."],
});

/** How a sender is proved, and its state. */
export const proofLabels = {
  en: { Dns: "DNS record", Mail: "Mailed link" },
  pt: { Dns: "Registro DNS", Mail: "Link enviado" },
};
