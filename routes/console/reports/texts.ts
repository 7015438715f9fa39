import { sectionTexts } from "../shared/labels.ts";
import { defineTexts } from "../shared/languages.ts";

/** Explanations of the states of a run on its page. */
export const runStateTexts = defineTexts({
  Waiting: [
    "It waits for a free slot. It starts automatically.",
    "Espera por uma vaga. Começa automaticamente.",
  ],
  Running: [
    "The rows are being read and the document is being written.",
    "As linhas estão sendo lidas e o documento está sendo escrito.",
  ],
  Ready: ["The document is ready.", "O documento está pronto."],
  Delivering: ["The document is being delivered.", "O documento está sendo entregue."],
  Delivered: ["Every recipient received the document.", "Todos os destinatários receberam o documento."],
  PartlyDelivered: [
    "Some recipients did not receive the document. The table below says why.",
    "Alguns destinatários não receberam o documento. A tabela abaixo diz porquê.",
  ],
  DeliveryFailed: [
    "No recipient received the document. The table below says why.",
    "Nenhum destinatário recebeu o documento. A tabela abaixo diz porquê.",
  ],
  Failed: [
    "No document was created. Check the error, then generate the report again.",
    "Não foi criado nenhum documento. Verifique o erro e gere o relatório de novo.",
  ],
  Cancelled: [
    "It was cancelled before a document was created.",
    "Foi cancelado antes de ser criado um documento.",
  ],
});

/** Texts about the download of a document, by the status of its file. */
export const documentTexts = defineTexts({
  Pending: [
    "It is being scanned. You can download it when the scan ends.",
    "Está sendo analisado. Você pode baixá-lo quando a análise terminar.",
  ],
  Scanning: [
    "It is being scanned. You can download it when the scan ends.",
    "Está sendo analisado. Você pode baixá-lo quando a análise terminar.",
  ],
  Available: ["You can download it.", "Você pode baixá-lo."],
  Infected: [
    "The scan found malware, so it cannot be downloaded.",
    "A análise encontrou software malicioso, por isso não pode ser baixado.",
  ],
  Failed: [
    "The scan failed, so it cannot be downloaded. Generate the report again.",
    "A análise falhou, por isso não pode ser baixado. Gere o relatório de novo.",
  ],
  Purged: [
    "Its content was deleted, so it cannot be downloaded. Generate the report again.",
    "O conteúdo foi excluído, por isso não pode ser baixado. Gere o relatório de novo.",
  ],
});

/** Delivery methods, by the API's numbers. */
export const reportDeliveryLabels = defineTexts({
  "1": ["Download only", "Só para baixar"],
  "2": ["By email", "Por e-mail"],
  "3": ["To storage", "Para o armazenamento"],
  "4": ["By webhook", "Por webhook"],
});

/** Texts of the report lists, the run page and the request form. */
export const reportTexts = sectionTexts({
  reports: ["Reports", "Relatórios"],
  templates: ["Report templates", "Modelos de relatório"],
  templatesCaption: ["Reports you may generate", "Relatórios que pode gerar"],
  noTemplates: ["No reports available", "Não há relatórios disponíveis"],
  noTemplatesText: [
    "A report appears here when you hold the permissions for its data. Ask an administrator for them.",
    "Um relatório aparece aqui quando tem as permissões para seus dados. Peça-as a um administrador.",
  ],
  schedule: ["Schedule", "Agendar"],
  formats: ["Formats", "Formatos"],
  parameters: ["Parameters", "Parâmetros"],
  noParameters: ["This report takes no parameters.", "Este relatório não tem parâmetros."],
  allRows: ["Global", "Global"],
  format: ["Format", "Formato"],
  notSet: ["Not set", "Sem valor"],
  when: ["When", "Quando"],
  inBackground: ["In the background", "Em segundo plano"],
  now: ["Now (wait up to one minute)", "Agora (esperar até um minuto)"],
  needsBackground: [
    "Delivery and bursting work only in the background. Choose “In the background”.",
    "A entrega e a divisão por valores só funcionam em segundo plano. Escolha “Em segundo plano”.",
  ],
  recipientsHint: [
    "One address per line, at most 50. With bursting, each value has its own recipients.",
    "Um endereço por linha, no máximo 50. Com a divisão, cada valor tem seus destinatários.",
  ],
  emailBody: ["Message", "Mensagem"],
  targetPath: ["Path", "Caminho"],
  targetPathHint: [
    "Can contain {date}, {templateId}, {executionId}, {fileName} and, with bursting, {value}.",
    "Pode conter {date}, {templateId}, {executionId}, {fileName} e, com a divisão, {value}.",
  ],
  webhookFormat: ["Content of the webhook", "Conteúdo do webhook"],
  signed: ["Signed message", "Mensagem assinada"],
  slackMessage: ["Slack message", "Mensagem do Slack"],
  bucketTarget: ["Where", "Onde"],
  ownStorage: ["Storage of the service", "Armazenamento do serviço"],
  chatTarget: ["Receiver", "Recetor"],
  urlBelow: ["The webhook URL below", "O URL do webhook abaixo"],
  target: ["Target", "Destino"],
  burst: [
    "Bursting: one document per value of a parameter",
    "Divisão: um documento por valor de um parâmetro",
  ],
  burstParameter: ["Parameter", "Parâmetro"],
  noBurst: ["One document", "Um só documento"],
  burstLines: ["Values", "Valores"],
  burstLinesHint: [
    "One value per line. Add its recipients after a bar: Editor | ana@example.com, rui@example.com",
    "Um valor por linha. Acrescente os destinatários após uma barra: Editor | ana@example.com, rui@example.com",
  ],
  burstLine: (line: number) => [`line ${line}`, `linha ${line}`],
  queued: ["The report was queued.", "O relatório foi colocado na fila."],
  generated: ["The report was generated.", "O relatório foi gerado."],
  // history
  history: ["Report history", "Histórico de relatórios"],
  historyCaption: ["Report runs, newest first", "Execuções de relatórios, as mais recentes primeiro"],
  requested: ["Requested", "Pedido"],
  completed: ["Ended", "Terminado"],
  noRuns: ["No report runs yet", "Ainda não há execuções"],
  noRunsText: [
    "Generate a report, or wait for a schedule.",
    "Gere um relatório ou espere por um agendamento.",
  ],
  ofSchedule: ["Runs of one schedule only.", "Só execuções de um agendamento."],
  ofBurst: ["Runs of one burst only.", "Só execuções de uma divisão."],
  allRuns: ["Show all runs", "Mostrar todas as execuções"],
  sinceOnly: (time: string) => [`Runs requested since ${time} only.`, `Só execuções pedidas desde ${time}.`],
  undelivered: ["Not or partly delivered", "Não entregue ou só em parte"],
  // one run
  requestedBy: ["Requested by", "Pedido por"],
  started: ["Started", "Iniciado"],
  downloads: ["Downloads", "Descargas"],
  expires: ["Kept until", "Mantido até"],
  fileName: ["File name", "Nome do arquivo"],
  burstValue: ["Burst value", "Valor da divisão"],
  burstAll: ["All runs of the burst", "Todas as execuções da divisão"],
  fromSchedule: ["Schedule", "Agendamento"],
  method: ["Method", "Método"],
  lastAttempt: ["Last attempt", "Última tentativa"],
  redeliver: ["Retry failed deliveries", "Repetir entregas com falha"],
  redeliverConfirm: (count: number) => [
    `Deliver the report again to ${count} ${
      count === 1 ? "recipient that" : "recipients that"
    } did not get it?`,
    `Entregar de novo o relatório a ${count} ${
      count === 1 ? "destinatário que não o recebeu" : "destinatários que não o receberam"
    }?`,
  ],
  redeliverOne: ["Deliver again", "Entregar de novo"],
  redeliverOneConfirm: (recipient: string) => [
    `Deliver the report again to ${recipient}?`,
    `Entregar de novo o relatório a ${recipient}?`,
  ],
  redelivered: ["The deliveries were queued again.", "As entregas foram colocadas de novo na fila."],
  deliver: ["Deliver to others", "Entregar a outros"],
  deliverIntro: [
    "Delivers the existing document. Earlier recipients do not get it again.",
    "Entrega o documento existente. Os destinatários anteriores não o recebem de novo.",
  ],
  deliverQueued: ["The delivery was queued.", "A entrega foi colocada na fila."],
  cancelRun: ["Cancel report", "Cancelar relatório"],
  cancelConfirm: ["Cancel this report?", "Cancelar este relatório?"],
  cancelled: ["The report was cancelled.", "O relatório foi cancelado."],
  deleteConfirm: ["Delete this report and its document?", "Excluir este relatório e seu documento?"],
  deleted: ["The report was deleted.", "O relatório foi excluído."],
  again: ["Generate again", "Gerar de novo"],
});

export const scheduleTexts = sectionTexts({
  schedules: ["Report schedules", "Agenda de relatórios"],
  caption: ["Schedules, newest first", "Agendamentos, os mais recentes primeiro"],
  newSchedule: ["New schedule", "Novo agendamento"],
  newOf: (report: string) => [`Schedule ${report}`, `Agendar ${report}`],
  edit: ["Edit schedule", "Editar agendamento"],
  chooseReport: ["Choose a report", "Escolha um relatório"],
  none: ["No schedules yet", "Ainda não há agendamentos"],
  noneText: [
    "A schedule generates a report automatically, with the permissions its creator holds at that time.",
    "Um agendamento gera um relatório automaticamente, com as permissões que seu criador tiver nesse momento.",
  ],
  permissionsNote: [
    "It runs with the permissions its creator holds at that time.",
    "É executado com as permissões que seu criador tiver nesse momento.",
  ],
  failures: ["Consecutive failures", "Falhas consecutivas"],
  deleteConfirm: (name: string) => [
    `Delete the schedule “${name}”? Its report runs are kept.`,
    `Excluir o agendamento “${name}”? As execuções são mantidas.`,
  ],
  created: ["The schedule was created.", "O agendamento foi criado."],
  saved: ["The schedule was saved.", "O agendamento foi salvo."],
  pausedNow: ["The schedule is paused.", "O agendamento está em pausa."],
  resumed: ["The schedule runs again.", "O agendamento foi retomado."],
  triggered: ["The report was queued.", "O relatório foi colocado na fila."],
  deleted: ["The schedule was deleted.", "O agendamento foi excluído."],
  all: ["All runs", "Todas as execuções"],
});

/** Texts of the pages of report targets and of the secret of report webhooks. */
export const targetTexts = sectionTexts({
  targets: ["Report targets", "Destinos de relatórios"],
  caption: ["Where reports can be delivered, by name", "Onde os relatórios podem ser entregues, por nome"],
  none: ["No report targets yet", "Ainda não há destinos"],
  noneText: [
    "Add a bucket of another system or a Slack channel. Reports and schedules can then be delivered there.",
    "Adicione um bucket de outro sistema ou um canal do Slack. Relatórios e agendamentos podem então ser entregues aí.",
  ],
  newBucket: ["New bucket", "Novo bucket"],
  newChat: ["New Slack webhook", "Novo webhook do Slack"],
  s3: ["S3 bucket", "Bucket S3"],
  slack: ["Slack webhook", "Webhook do Slack"],
  place: ["Place", "Local"],
  endpoint: ["Endpoint", "Endereço"],
  endpointHint: [
    "Address of the S3 API, such as https://s3.eu-west-3.amazonaws.com",
    "Endereço da API S3, como https://s3.eu-west-3.amazonaws.com",
  ],
  region: ["Region", "Região"],
  bucket: ["Bucket", "Bucket"],
  prefix: ["Folder", "Pasta"],
  prefixHint: [
    "Paths of deliveries are below this folder. It may be empty.",
    "Os caminhos das entregas ficam abaixo desta pasta. Pode ficar vazia.",
  ],
  pathStyle: [
    "The bucket is in the path, not in the host name",
    "O bucket está no caminho, não no nome da máquina",
  ],
  accessKeyId: ["Access key id", "Id da chave de acesso"],
  secretAccessKey: ["Secret access key", "Chave de acesso secreta"],
  webhookUrlHint: [
    "Of Slack, or of a service that takes the same messages. It is a secret and is not shown again.",
    "Do Slack ou de um serviço que aceite as mesmas mensagens. É um segredo e não volta a ser mostrado.",
  ],
  keptSecret: ["Empty: the stored value stays.", "Vazio: o valor salvo é mantido."],
  test: ["Test", "Testar"],
  tested: ["The test succeeded: the target can be reached.", "O teste deu certo: o destino está acessível."],
  testFailed: (reason: string) => [`The test failed: ${reason}`, `O teste falhou: ${reason}`],
  created: ["The target was created.", "O destino foi criado."],
  saved: ["The target was saved.", "O destino foi salvo."],
  removeConfirm: (name: string) => [
    `Delete the target “${name}”? Deliveries of schedules that use it will fail.`,
    `Excluir o destino “${name}”? As entregas de agendamentos que o usam vão falhar.`,
  ],
  removed: ["The target was deleted.", "O destino foi excluído."],
  // the secret of report webhooks
  webhookSecret: ["Secret of report webhooks", "Segredo dos webhooks de relatórios"],
  ownSecret: [
    "Webhooks of reports are signed with the tenant's own secret.",
    "Os webhooks de relatórios são assinados com o segredo do próprio inquilino.",
  ],
  sharedSecret: [
    "Webhooks of reports are signed with the secret of the service. Create one of your own.",
    "Os webhooks de relatórios são assinados com o segredo do serviço. Crie um próprio.",
  ],
  secretCreated: ["Created", "Criado"],
  oldSecret: ["The previous secret also signs until", "O segredo anterior também assina até"],
  rotateConfirm: [
    "Create a new secret? The current one also signs for 24 hours.",
    "Criar um novo segredo? O atual também assina durante 24 horas.",
  ],
  rotated: ["New secret of report webhooks", "Novo segredo dos webhooks de relatórios"],
  back: ["Back to the targets", "Voltar aos destinos"],
});

export const documentTemplateTexts = sectionTexts({
  title: ["Document templates", "Modelos de documentos"],
  caption: ["Document templates by slug and language", "Modelos de documentos por nome curto e idioma"],
  newTemplate: ["New document template", "Novo modelo de documento"],
  search: ["Search slug or name", "Buscar pelo nome"],
  empty: ["No document templates yet", "Ainda não há modelos de documentos"],
  emptyText: [
    "PDFs such as invoices and letters are made from document templates. Begin with a sample.",
    "Os PDF, como faturas e cartas, são criados a partir de modelos de documentos. Comece com um exemplo.",
  ],
  slugHint: ["Lower-case letters, digits and hyphens.", "Minúsculas, dígitos e hifens."],
  languageHint: [
    "A language tag such as en or pt-BR: language of the document, format of its numbers and dates.",
    "Um código de idioma como en ou pt-BR: idioma do documento, formato dos seus números e datas.",
  ],
  documentTitle: ["Title of the document", "Título do documento"],
  documentTitleHint: ["It also names the file.", "Também dá o nome ao arquivo."],
  bodyHint: [
    "Markup with variables, such as <page><h1>Invoice {{number}}</h1></page>. {{> slug}} is a partial of the message templates.",
    "Marcação com variáveis, como <page><h1>Fatura {{number}}</h1></page>. {{> nome}} é um parcial dos modelos de mensagens.",
  ],
  textsHint: [
    'The body shows a text with {{ t "key" }}, in the language of the document. Empty rows are removed.',
    'O corpo mostra um texto com {{ t "chave" }}, no idioma do documento. As linhas vazias são removidas.',
  ],
  requiredHint: [
    "Names separated by commas. A document without one of them is refused.",
    "Nomes separados por vírgulas. Um documento sem uma delas é recusado.",
  ],
  sampleHint: ["Saved with the template, for previews.", "Salvos com o modelo, para pré-visualizações."],
  sampleInvalid: ["Enter a JSON object.", "Digite um objeto JSON."],
  samples: ["Begin with a sample", "Comece com um exemplo"],
  preview: ["Preview", "Pré-visualizar"],
  previewText: ["Shows the document with the sample data.", "Mostra o documento com os dados de exemplo."],
  previewLanguage: ["Language of the preview", "Idioma da pré-visualização"],
  ownLanguage: ["Default language", "Idioma padrão"],
  languages: ["Languages of the version", "Idiomas da versão"],
  versionNote: [
    "The document has the sample data of this version. Its partials are the current ones.",
    "O documento tem os dados de exemplo desta versão. Os parciais são os atuais.",
  ],
  openPdf: ["Open the PDF", "Abrir o PDF"],
  saved: (version: number) => [`Saved as version ${version}.`, `Salvo como versão ${version}.`],
  created: ["The document template was created.", "O modelo de documento foi criado."],
  deleted: ["The document template was deleted.", "O modelo de documento foi excluído."],
  deleteConfirm: (slug: string, locale: string) => [
    `Delete the document template ${slug} (${locale})? Documents that were already requested are still generated.`,
    `Excluir o modelo de documento ${slug} (${locale})? Os documentos já pedidos continuam sendo gerados.`,
  ],
  generateIntro: [
    "The documents have the saved version of the template. They are made in the background.",
    "Os documentos usam a versão salva do modelo. São criados em segundo plano.",
  ],
  language: ["Language of the documents", "Idioma dos documentos"],
  dataHint: [
    'An object makes one document. An array makes one for each item, at most 100: [{"name": "Ana", "language": "pt", "data": {…}, "recipients": ["ana@example.com"]}]. Only the data is needed; recipients are for delivery by email.',
    'Um objeto cria um documento. Uma lista cria um para cada item, no máximo 100: [{"name": "Ana", "language": "pt", "data": {…}, "recipients": ["ana@example.com"]}]. Só os dados são necessários; os destinatários servem para a entrega por e-mail.',
  ],
  dataInvalid: [
    "Enter a JSON object, or an array with one item for each document.",
    "Digite um objeto JSON ou uma lista com um item para cada documento.",
  ],
  item: (number: number) => [`item ${number}`, `item ${number}`],
  documentQueued: ["The document was queued.", "O documento entrou na fila."],
  documentsQueued: ["The documents were queued.", "Os documentos entraram na fila."],
});
