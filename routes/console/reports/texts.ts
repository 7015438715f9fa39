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
  duration: ["Duration", "Duração"],
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
