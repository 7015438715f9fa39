import { sectionTexts } from "../shared/labels.ts";
import { counted, defineTexts, withCount } from "../shared/languages.ts";

export const keyTexts = defineTexts({
  title: ["API keys", "Chaves de API"],
  caption: ["API keys of this tenant", "Chaves de API deste inquilino"],
  add: ["New API key", "Nova chave de API"],
  none: ["No API keys yet", "Ainda não há chaves de API"],
  noneText: [
    "An API key lets a program call the API with permissions of the user who created it.",
    "Uma chave de API deixa um programa usar a API com permissões de quem a criou.",
  ],
  nameHint: [
    "The purpose of the key, such as nightly import.",
    "O fim da chave, por exemplo importação noturna.",
  ],
  permissionsHint: [
    "A key can have only permissions that you hold. If you lose a permission, the key loses it too.",
    "Uma chave só pode ter permissões que você também tem. Se você perder uma permissão, a chave também a perde.",
  ],
  create: ["Create the key", "Criar a chave"],
  wasCreated: ["The key was created", "A chave foi criada"],
  revokeConfirm: (name: string) => [
    `Revoke the key ${name}? Requests that use it are refused immediately.`,
    `Revogar a chave ${name}? As solicitações que a usam são recusadas imediatamente.`,
  ],
  wasRevoked: ["The key was revoked.", "A chave foi revogada."],
  back: ["Back to the API keys", "Voltar às chaves de API"],
  secret: ["Key", "Chave"],
});

/** Texts of service accounts, by the names of those of API keys. */
export const accountTexts: typeof keyTexts = defineTexts({
  title: ["Service accounts", "Contas de serviço"],
  caption: ["Service accounts that you manage", "Contas de serviço que você gerencia"],
  add: ["New service account", "Nova conta de serviço"],
  none: ["No service accounts yet", "Ainda não há contas de serviço"],
  noneText: [
    "A service account lets a program call the API. It is not tied to a user.",
    "Uma conta de serviço deixa um programa usar a API. Não está ligada a nenhum usuário.",
  ],
  nameHint: ["The program that uses it, such as billing.", "O programa que a usa, por exemplo faturamento."],
  permissionsHint: [
    "A service account can have only permissions that you hold. It keeps them if you lose them.",
    "Uma conta de serviço só pode ter permissões que você também tem. Ela as mantém se você as perder.",
  ],
  create: ["Create the account", "Criar a conta"],
  wasCreated: ["The service account was created", "A conta de serviço foi criada"],
  revokeConfirm: (name: string) => [
    `Revoke the service account ${name}? Requests that use it are refused immediately.`,
    `Revogar a conta de serviço ${name}? As solicitações que a usam são recusadas imediatamente.`,
  ],
  wasRevoked: ["The service account was revoked.", "A conta de serviço foi revogada."],
  secret: ["Secret", "Segredo"],
  back: ["Back to the service accounts", "Voltar às contas de serviço"],
});

/** Texts of API keys and webhook endpoints. */
export const integrationTexts = sectionTexts({
  unusedForDays: ["Unused for … days", "Sem uso há … dias"],
  expiresWithinDays: ["Expires within … days", "Expira em até … dias"],
  withRevoked: ["Including revoked", "Incluindo as revogadas"],
  withoutRevoked: ["Not revoked", "Não revogadas"],
  permissionCount: counted(["permission", "permissions"], ["permissão", "permissões"]),
  active: ["Active", "Ativa"],
  expired: ["Expired", "Expirada"],
  revoked: ["Revoked", "Revogada"],
  created: ["Created", "Criada"],
  expires: ["Expires", "Expira"],
  validity: ["Valid for", "Válida por"],
  days: (count: number) => [`${count} days`, `${count} dias`],
  untilRevoked: ["Until revoked", "Até ser revogada"],
  noPermissions: [
    "You hold no permission that a key can have. Ask an administrator for one.",
    "Você não tem nenhuma permissão que uma chave possa ter. Peça-a a um administrador.",
  ],
  otherPermissions: ["Other permissions", "Outras permissões"],
  shownOnce: [
    "Copy this value now. It is not shown again.",
    "Copie este valor agora. Não volta a ser mostrado.",
  ],
  keyUse: ["Send it with every request:", "Envie-a com cada solicitação:"],
  actsIn: ["Acts in", "Atua em"],
  thisTenant: ["This tenant", "Este inquilino"],
  tenantCount: counted(["tenant", "tenants"], ["inquilino", "inquilinos"]),
  newSecretOf: (name: string) => [`New secret of ${name}`, `Novo segredo de ${name}`],
  createSecret: ["Create the secret", "Criar o segredo"],
  overlap: ["The old secret stays valid for", "O segredo antigo continua válido por"],
  overlapHint: [
    "Replace it in your programs in that time. A secret that was replaced before ends immediately.",
    "Substitua-o nos seus programas nesse tempo. Um segredo substituído antes termina imediatamente.",
  ],
  endsAtOnce: ["Ends immediately", "Termina imediatamente"],
  hours: counted(["hour", "hours"], ["hora", "horas"]),
  formerUntil: ["Old secret valid until", "Segredo antigo válido até"],
  webhooks: ["Webhooks", "Webhooks"],
  webhooksCaption: ["Webhook endpoints of this tenant", "Endpoints de webhook deste inquilino"],
  newWebhook: ["New webhook endpoint", "Novo endpoint de webhook"],
  noWebhooks: ["No webhook endpoints yet", "Ainda não há endpoints de webhook"],
  noWebhooksText: [
    "An endpoint is a URL that receives events as they happen.",
    "Um endpoint é um URL que recebe os eventos à medida que ocorrem.",
  ],
  url: ["URL", "URL"],
  urlHint: [
    "Events are sent there by POST, signed as Standard Webhooks.",
    "Os eventos são enviados para lá por POST, assinados como Standard Webhooks.",
  ],
  events: ["Events", "Eventos"],
  allEvents: ["All events, including future types", "Todos os eventos, incluindo tipos futuros"],
  isActive: ["Active: events are sent", "Ativo: os eventos são enviados"],
  ordered: ["In order for each object", "Em ordem para cada objeto"],
  orderedHint: [
    "An event waits until earlier ones about the same object were delivered or given up, for up to three days each.",
    "Um evento espera até que os anteriores sobre o mesmo objeto sejam entregues ou abandonados, até três dias cada um.",
  ],
  gone: [
    "Deactivated: the endpoint answered 410 Gone. Edit it to change the URL or to activate it again.",
    "Desativado: o endpoint respondeu 410 Gone. Edite-o para mudar o URL ou para o ativar de novo.",
  ],
  gaveUp: [
    "Deactivated: its deliveries failed for days. Edit it to activate it again.",
    "Desativado: as entregas falharam durante dias. Edite-o para o ativar de novo.",
  ],
  saved: ["The endpoint was saved.", "O endpoint foi salvo."],
  beginsWith: ["Begins with", "Começa com"],
  secret: ["Signing secret", "Segredo de assinatura"],
  endpointCreated: ["The endpoint was created", "O endpoint foi criado"],
  newSecretConfirm: [
    "Create a new signing secret? For one day, events are signed with both secrets.",
    "Criar um novo segredo de assinatura? Durante um dia, os eventos são assinados com os dois segredos.",
  ],
  secretCreated: ["The new secret was created", "O novo segredo foi criado"],
  oldSecret: (hours: number) => [
    `For ${hours} hours, events are signed with both secrets. Replace the old secret in that time.`,
    `Durante ${hours} horas, os eventos são assinados com os dois segredos. Substitua o antigo nesse prazo.`,
  ],
  backToWebhook: ["Back to the endpoint", "Voltar ao endpoint"],
  test: ["Send a test event", "Enviar um evento de teste"],
  tested: ["A test event was queued.", "Um evento de teste foi colocado na fila."],
  removeConfirm: [
    "Delete this endpoint and its delivery history?",
    "Excluir este endpoint e o histórico das suas entregas?",
  ],
  removed: ["The endpoint was deleted.", "O endpoint foi excluído."],
  deliveries: ["Deliveries", "Entregas"],
  deliveriesByPeriod: ["Deliveries by period", "Entregas por período"],
  allDeliveries: ["Webhook deliveries", "Entregas de webhooks"],
  deliveriesCaption: [
    "Deliveries of the last 30 days, newest first",
    "Entregas dos últimos 30 dias, as mais recentes primeiro",
  ],
  noDeliveries: ["No deliveries yet", "Ainda não há entregas"],
  noDeliveriesText: [
    "Send a test event, or wait for an event.",
    "Envie um evento de teste ou espere por um evento.",
  ],
  event: ["Event", "Evento"],
  lastResponse: ["Last response", "Última resposta"],
  noResponse: ["no response", "sem resposta"],
  next: ["Next attempt", "Próxima tentativa"],
  redeliver: ["Send again", "Reenviar"],
  redeliverConfirm: (url: string) => [`Send the event again to ${url}?`, `Reenviar o evento para ${url}?`],
  redelivered: ["The event was queued again.", "O evento foi colocado de novo na fila."],
  details: ["Body and attempts", "Corpo e tentativas"],
  response: ["Response", "Resposta"],
});

/** Texts of pausing an endpoint, its success rate, and sending failed events again. */
export const webhookTexts = sectionTexts({
  alertRules: ["Alert rules", "Regras de alerta"],
  successRate: ["Success, 24 h", "Sucesso, 24 h"],
  noAttempt: ["No attempt", "Nenhuma tentativa"],
  attemptsOf: (delivered: string, all: string) => [
    `${delivered} of ${all} attempts`,
    `${delivered} de ${all} tentativas`,
  ],
  pauseTitle: ["Pause this endpoint", "Pausar este endpoint"],
  pauseText: [
    "Its events wait and are sent after you resume it. Events are kept for 30 days.",
    "Os eventos esperam e são enviados depois que você o retomar. Eles são mantidos por 30 dias.",
  ],
  pauseReasonHint: [
    "Shown on this page and in the audit log.",
    "Aparece nesta página e no registro de auditoria.",
  ],
  pausedNow: ["The endpoint was paused.", "O endpoint foi pausado."],
  resumedNow: [
    "The endpoint was resumed. Waiting events are being sent.",
    "O endpoint foi retomado. Os eventos em espera estão sendo enviados.",
  ],
  pausedNotice: [
    "Deliveries wait until the endpoint is resumed.",
    "As entregas esperam até o endpoint ser retomado.",
  ],
  failing: ["Failing", "Com falhas"],
  endpointId: ["Endpoint ID", "ID do endpoint"],
  ended: ["Ended", "Terminou"],
  retryFailed: ["Send failed events again", "Reenviar eventos com falha"],
  noneFailed: [
    "No delivery to an active endpoint failed in this period. Deliveries that are retried are pending.",
    "Nenhuma entrega a um endpoint ativo falhou neste período. As que ainda serão repetidas estão pendentes.",
  ],
  retryEffect: (count: number, where: string) => [
    `This sends ${
      withCount("en", count, "failed delivery", "failed deliveries")
    } to active endpoints again, ${where}.`,
    `Isto reenvia ${
      withCount("pt", count, "entrega com falha", "entregas com falha")
    } a endpoints ativos, ${where}.`,
  ],
  failedMost: (most: string) => [
    `There may be more: one request sends at most ${most}.`,
    `Pode haver mais: um pedido reenvia no máximo ${most}.`,
  ],
  sameIds: [
    "Each keeps its own id, so a receiver can ignore what it already has. Paused endpoints get theirs after they are resumed.",
    "Cada uma mantém o próprio id, para que o receptor possa ignorar o que já tem. Endpoints pausados recebem as suas depois de retomados.",
  ],
  retryThese: counted(["event: send again", "events: send again"], ["evento: reenviar", "eventos: reenviar"]),
  retriedMany: counted(
    ["event was queued again.", "events were queued again."],
    ["evento foi colocado de novo na fila.", "eventos foram colocados de novo na fila."],
  ),
  retriedByJob: (count: number) => [
    `A job is queueing ${count} events again.`,
    `Uma tarefa está colocando de novo na fila ${count} eventos.`,
  ],
});

export const oauthClientTexts = sectionTexts({
  clients: ["OAuth clients", "Clientes OAuth"],
  clientsCaption: ["OAuth clients that you manage", "Clientes OAuth que você gerencia"],
  newClient: ["New OAuth client", "Novo cliente OAuth"],
  noClients: ["No OAuth clients yet", "Ainda não há clientes OAuth"],
  noClientsText: [
    "An OAuth client is a program that users sign in to with this service.",
    "Um cliente OAuth é um programa em que os usuários entram com este serviço.",
  ],
  createClient: ["Create the client", "Criar o cliente"],
  nameHint: [
    "Users see it when the client asks them for consent.",
    "Os usuários o veem quando o cliente pede autorização a eles.",
  ],
  confidential: [
    "Confidential: a server that keeps a secret",
    "Confidencial: um servidor que guarda um segredo",
  ],
  public: ["Public: an app or a page, without a secret", "Público: uma aplicação ou página, sem segredo"],
  everyTenant: ["Of every tenant", "De todos os inquilinos"],
  ownTenant: ["Of its tenant", "Do seu inquilino"],
  clientId: ["Client id", "Id do cliente"],
  redirectUris: ["Redirect URIs", "URIs de redirecionamento"],
  redirectHint: [
    "One per line. https, or http on 127.0.0.1, [::1] or localhost. Compared character by character.",
    "Um por linha. https, ou http em 127.0.0.1, [::1] ou localhost. Comparados caractere a caractere.",
  ],
  postLogoutRedirectUris: ["Redirect URIs after a sign-out", "URIs de redirecionamento após sair"],
  backchannelLogoutUri: ["Logout URI", "URI de saída"],
  backchannelHint: [
    "The service posts a logout token there when a user's session has ended.",
    "O serviço envia para lá um token de saída quando a sessão de um usuário termina.",
  ],
  accessTokenSeconds: ["Lifetime of access tokens in seconds", "Duração dos tokens de acesso em segundos"],
  refreshTokenSeconds: [
    "Seconds after which an unused refresh token expires",
    "Segundos após os quais um token de renovação sem uso expira",
  ],
  grantSeconds: ["Longest sign-in in seconds", "Sessão mais longa em segundos"],
  audience: ["Audience", "Audiência"],
  audienceHint: [
    "The API that accepts its access tokens, such as https://api.example.com.",
    "A API que aceita os seus tokens de acesso, como https://api.example.com.",
  ],
  scopes: ["Scopes", "Escopos"],
  scopesHint: [
    "Separated by spaces. First-party clients may have steward.self and steward.files.",
    "Separados por espaços. Clientes próprios podem ter steward.self e steward.files.",
  ],
  tokenAlgorithm: ["Algorithm of access tokens", "Algoritmo dos tokens de acesso"],
  withPermissions: [
    "Access tokens contain the user's permissions",
    "Os tokens de acesso contêm as permissões do usuário",
  ],
  firstParty: ["First-party: users are not asked for consent", "Próprio: não pede autorização aos usuários"],
  edit: ["Edit the client", "Editar o cliente"],
  clientCreated: ["Client created", "Cliente criado"],
  publicCreated: ["The client was created. It has no secret.", "O cliente foi criado. Não tem segredo."],
  secretCreated: ["New client secret", "Novo segredo do cliente"],
  rotateConfirm: (name: string) => [
    `Create a new secret for ${name}? The old one stops working at once.`,
    `Criar um novo segredo para ${name}? O antigo deixa logo de funcionar.`,
  ],
  revokeConfirm: (name: string) => [
    `Revoke ${name}? Nobody can sign in to it any more. This cannot be undone.`,
    `Revogar ${name}? Ninguém mais poderá entrar nele. Não é possível desfazer.`,
  ],
  clientRevoked: ["The client was revoked.", "O cliente foi revogado."],
  revoked: ["Revoked", "Revogado"],
  saved: ["Saved.", "Salvo."],
  backToClient: ["To the client", "Ir para o cliente"],
});
