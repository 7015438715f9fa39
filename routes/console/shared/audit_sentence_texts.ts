import { counted, defineTexts } from "./languages.ts";

/**
 * The sentence for each action of the audit log. `{who}` is the actor, `{target}` the target with a link. Other names in
 * braces are details that `auditSentence` finds in the entry.
 */
export const actionSentences = defineTexts({
  "deadLetter.discard": [
    "{who} discarded dead letter {target}",
    "{who} descartou a falha definitiva {target}",
  ],
  "deadLetter.purge": ["{who} purged {deadLetters}", "{who} excluiu {deadLetters}"],
  "deadLetter.retry": [
    "{who} ran the job of dead letter {target} again",
    "{who} executou de novo a tarefa da falha definitiva {target}",
  ],
  "deadLetter.retryMany": [
    "{who} ran the jobs of {deadLetters} again",
    "{who} executou de novo as tarefas de {deadLetters}",
  ],
  "user.act-as-open": ["{who} began to act as {target}", "{who} começou a agir como {target}"],
  "user.act-as-end": ["{who} ended acting as {target}", "{who} terminou de agir como {target}"],
  "user.act-as-allow": [
    "{who} allowed another user to act as {target}",
    "{who} permitiu que outro usuário agisse como {target}",
  ],
  "user.act-as-refuse": [
    "{who} refused that another user acts as {target}",
    "{who} recusou que outro usuário aja como {target}",
  ],
  "file.download-url": [
    "{who} requested a download of file {target}",
    "{who} pediu para baixar o arquivo {target}",
  ],
  "file.infected": [
    "The scan found a virus in file {target}",
    "A verificação encontrou um vírus no arquivo {target}",
  ],
  "file.purge": [
    "{who} deleted the content of file {target}",
    "{who} excluiu o conteúdo do arquivo {target}",
  ],
  "file.retention": [
    "{who} changed the retention of file {target}",
    "{who} alterou a conservação do arquivo {target}",
  ],
  "invitation.accept": ["{who} accepted an invitation", "{who} aceitou um convite"],
  "invitation.create": ["{who} invited {target}", "{who} convidou {target}"],
  "invitation.resend": ["{who} sent invitation {target} again", "{who} enviou de novo o convite {target}"],
  "invitation.revoke": ["{who} withdrew the invitation of {target}", "{who} retirou o convite de {target}"],
  "job.requestCancel": ["{who} asked job {target} to stop", "{who} pediu que a tarefa {target} pare"],
  "job.retry": ["{who} ran job {target} again", "{who} executou de novo a tarefa {target}"],
  "job.retryNow": ["{who} retried job {target} at once", "{who} repetiu logo a tarefa {target}"],
  "notification-suppression.add": [
    "{who} suppressed the address {target}",
    "{who} suprimiu o endereço {target}",
  ],
  "notification-suppression.lift": [
    "{who} lifted the suppression of {target}",
    "{who} removeu a supressão de {target}",
  ],
  "oauthClient.disconnect": [
    "{who} disconnected program {target} from their account",
    "{who} desligou o programa {target} da sua conta",
  ],
  "permission.default-roles": [
    "{who} changed which default roles have permission {target}",
    "{who} alterou quais papéis padrão têm a permissão {target}",
  ],
  "report.download-url": [
    "{who} requested a download of report {target}",
    "{who} pediu para baixar o relatório {target}",
  ],
  "report.follow-link": [
    "Someone opened the mailed link of report {target}",
    "Alguém abriu o link enviado do relatório {target}",
  ],
  "report.redeliver": ["{who} sent report {target} again", "{who} enviou de novo o relatório {target}"],
  "role.group": [
    "{who} changed which group of the directory role {target} is",
    "{who} alterou a que grupo do diretório corresponde o papel {target}",
  ],
  "tenant.erase": [
    "{who} requested the erasure of tenant {target}",
    "{who} pediu que o inquilino {target} seja apagado",
  ],
  "tenant.export": [
    "{who} requested an export of tenant {target}",
    "{who} pediu uma exportação do inquilino {target}",
  ],
  "tenant-looks.remove-logo": ["{who} removed the logo of {tenant}", "{who} removeu o logotipo de {tenant}"],
  "tenant-looks.set-logo": ["{who} changed the logo of {tenant}", "{who} alterou o logotipo de {tenant}"],
  "tenant-looks.update": ["{who} changed the looks of {tenant}", "{who} alterou a aparência de {tenant}"],
  "user.add-factor": [
    "{who} added a second factor for {target}",
    "{who} adicionou um segundo fator de {target}",
  ],
  "user.bootstrap": [
    "The service created the first administrator {target}",
    "O serviço criou o primeiro administrador {target}",
  ],
  "user.change-email": ["{who} changed the email address of {target}", "{who} alterou o e-mail de {target}"],
  "user.change-password": ["{who} changed their own password", "{who} alterou a própria senha"],
  "user.end-sessions": ["{who} ended sessions of {target}", "{who} encerrou sessões de {target}"],
  "user.erase": [
    "{who} requested the erasure of user {target}",
    "{who} pediu que o usuário {target} seja apagado",
  ],
  "user.export": [
    "{who} requested an export about user {target}",
    "{who} pediu uma exportação sobre o usuário {target}",
  ],
  "user.link": ["{who} added {target} to {tenant}", "{who} adicionou {target} a {tenant}"],
  "user.link-identity": [
    "{target} signed in with a provider for the first time",
    "{target} entrou pela primeira vez com um provedor",
  ],
  "user.link.activate": [
    "{who} let {target} act in {tenant} again",
    "{who} voltou a dar acesso a {tenant} a {target}",
  ],
  "user.link.deactivate": [
    "{who} ended the access of {target} to {tenant}",
    "{who} encerrou o acesso de {target} a {tenant}",
  ],
  "tenant.set-registration": [
    "{who} changed who may join tenant {target}",
    "{who} alterou quem pode entrar no inquilino {target}",
  ],
  "sign-in-domain.fail": [
    "The daily check did not find the TXT record of email domain {target}",
    "A verificação diária não encontrou o registro TXT do domínio de e-mail {target}",
  ],
  "tenant.set-sign-in": [
    "{who} changed how users sign in to tenant {target}",
    "{who} alterou como se entra no inquilino {target}",
  ],
  "user.register": ["{target} registered", "{target} registrou-se"],
  "user.remove-password": [
    "The password of {target}, chosen by somebody else, was removed at the first sign-in with a provider",
    "A senha de {target}, escolhida por outra pessoa, foi removida na primeira entrada com um provedor",
  ],
  "user.remove-factor": [
    "{who} removed a second factor of {target}",
    "{who} removeu um segundo fator de {target}",
  ],
  "user.remove-factors": [
    "{who} removed the second factors of {target}",
    "{who} removeu os segundos fatores de {target}",
  ],
  "user.renew-recovery-codes": [
    "{who} renewed the recovery codes of {target}",
    "{who} renovou os códigos de recuperação de {target}",
  ],
  "user.reset-password": [
    "{target} set a new password by mail",
    "{target} definiu uma nova senha por e-mail",
  ],
  "user.send-password-reset": [
    "{who} sent {target} a mail to reset the password",
    "{who} enviou a {target} um e-mail para redefinir a senha",
  ],
  "user.unlink": ["{who} removed {target} from {tenant}", "{who} removeu {target} de {tenant}"],
  "user.unlock": ["{who} unlocked {target}", "{who} desbloqueou {target}"],
  "userImport.complete": ["The import of users {target} ended", "A importação de usuários {target} terminou"],
  "userImport.fail": ["The import of users {target} failed", "A importação de usuários {target} falhou"],
  "alertRule.fire": ["Alert {target} fired", "O alerta {target} disparou"],
  "alertRule.resolve": ["Alert {target} is resolved", "O alerta {target} foi resolvido"],
  "webhookDelivery.redeliver-failed": [
    "{who} sent failed webhook deliveries again",
    "{who} reenviou entregas de webhook com falha",
  ],
  "webhookEndpoint.disable": [
    "The service switched off webhook {target}, because it failed",
    "O serviço desligou o webhook {target}, porque falhava",
  ],
});

/** Sentences that several actions share, and their parts. */
export const sentenceParts = defineTexts({
  service: ["The service", "O serviço"],
  unknown: ["Someone", "Alguém"],
  actingAs: ["{actor} as {name}", "{actor} como {name}"],
  byKey: ["a key or link of {name}", "uma chave ou um link de {name}"],
  ownTenant: ["the tenant", "o inquilino"],
  general: ["{who} {verb} {noun} {target}", "{who} {verb} {noun} {target}"],
  changed: ["{who} changed {noun} {target}: {fields}", "{who} alterou {noun} {target}: {fields}"],
  unnamed: ["{who} did {action} to {target}", "{who} fez {action} em {target}"],
  switchedOn: ["{who} activated {noun} {target}", "{who} ativou {noun} {target}"],
  switchedOff: ["{who} deactivated {noun} {target}", "{who} desativou {noun} {target}"],
  gave: ["{who} gave {to} {gained}", "{who} deu {gained} {to}"],
  took: ["{who} took {lost} from {from}", "{who} tirou {lost} {from}"],
  gaveAndTook: ["{who} gave {to} {gained} and took {lost}", "{who} deu {gained} {to} e tirou {lost}"],
  toRole: ["role {target}", "ao papel {target}"],
  fromRole: ["role {target}", "do papel {target}"],
  toUser: ["{target}", "a {target}"],
  fromUser: ["{target}", "de {target}"],
  onePermission: (code: string) => [`the permission ${code}`, `a permissão ${code}`],
  permissions: (codes: string) => [`the permissions ${codes}`, `as permissões ${codes}`],
  manyPermissions: (count: number) => [`${count} permissions`, `${count} permissões`],
  oneRole: (name: string) => [`the role ${name}`, `o papel ${name}`],
  roles: (names: string) => [`the roles ${names}`, `os papéis ${names}`],
  manyRoles: (count: number) => [`${count} roles`, `${count} papéis`],
  deadLetters: counted(["dead letter", "dead letters"], ["falha definitiva", "falhas definitivas"]),
});

/** Past tense of the verb of an action, such as `create` in `role.create`. */
export const actionVerbs = defineTexts({
  add: ["added", "adicionou"],
  cancel: ["cancelled", "cancelou"],
  create: ["created", "criou"],
  delete: ["deleted", "excluiu"],
  disable: ["disabled", "desativou"],
  enable: ["enabled", "ativou"],
  pause: ["paused", "pausou"],
  redeliver: ["sent again", "enviou de novo"],
  remove: ["removed", "removeu"],
  resume: ["resumed", "retomou"],
  revoke: ["revoked", "revogou"],
  rotate: ["renewed the secret of", "renovou o segredo de:"],
  "rotate-secret": ["renewed the secret of", "renovou o segredo de:"],
  test: ["tested", "testou"],
  trigger: ["ran", "executou"],
  update: ["changed", "alterou"],
  verify: ["verified", "verificou"],
});

/** Names of the kinds of targets, as they stand before a target's name. */
export const targetNouns = defineTexts({
  apiKey: ["API key", "a chave de API"],
  application: ["application", "a aplicação"],
  "document-template": ["document template", "o modelo de documento"],
  file: ["file", "o arquivo"],
  invitation: ["invitation", "o convite"],
  job: ["job", "a tarefa"],
  jobBatch: ["batch of jobs", "o lote de tarefas"],
  jobQueue: ["queue", "a fila"],
  jobType: ["job type", "o tipo de tarefa"],
  deployMark: ["mark of a deploy", "a marca de uma implantação"],
  "notification-sender": ["sender", "o remetente"],
  "notification-template": ["message template", "o modelo de mensagem"],
  oauthClient: ["OAuth client", "o cliente OAuth"],
  permission: ["permission", "a permissão"],
  recurringJob: ["recurring job", "a tarefa recorrente"],
  report: ["report", "o relatório"],
  reportSchedule: ["report schedule", "o agendamento de relatório"],
  reportTarget: ["report target", "o destino de relatórios"],
  reportWebhookSecret: ["the webhook secret of reports of", "o segredo de webhooks de relatórios de"],
  role: ["role", "o papel"],
  serviceAccount: ["service account", "a conta de serviço"],
  "sign-in-domain": ["email domain", "o domínio de e-mail"],
  "sign-in-provider": ["identity provider", "o provedor de identidade"],
  "sign-in-setup-link": ["set-up link", "o link de configuração"],
  setting: ["setting", "a configuração"],
  tenant: ["tenant", "o inquilino"],
  user: ["user", "o usuário"],
  userImport: ["import of users", "a importação de usuários"],
  webhookDelivery: ["webhook delivery", "a entrega de webhook"],
  webhookEndpoint: ["webhook", "o webhook"],
});

/** Names of changed fields. */
export const fieldNames = defineTexts({
  cronExpression: ["schedule", "horário"],
  description: ["description", "descrição"],
  email: ["email address", "e-mail"],
  eventTypes: ["event types", "tipos de evento"],
  expiresAt: ["expiry", "validade"],
  externalId: ["external id", "id externo"],
  firstName: ["first name", "nome"],
  isActive: ["active", "ativo"],
  lastName: ["last name", "sobrenome"],
  maxUsers: ["user limit", "limite de usuários"],
  metadata: ["metadata", "metadados"],
  name: ["name", "nome"],
  permissions: ["permissions", "permissões"],
  phoneNumber: ["phone number", "telefone"],
  queue: ["queue", "fila"],
  actAs: ["acting as its users", "agir como os seus usuários"],
  roleIds: ["roles", "papéis"],
  requireSecondFactor: ["second factor required", "segundo fator exigido"],
  subject: ["subject", "assunto"],
  tenants: ["tenants", "inquilinos"],
  timeZoneId: ["time zone", "fuso horário"],
  url: ["URL", "URL"],
  value: ["value", "valor"],
});
