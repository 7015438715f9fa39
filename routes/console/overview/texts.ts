import { sectionTexts } from "../shared/labels.ts";
import { counted, defineTexts } from "../shared/languages.ts";

export const overviewTexts = sectionTexts({
  title: ["Overview", "Visão geral"],
  attention: ["What needs attention", "O que precisa de atenção"],
  allWell: ["No problems", "Sem problemas"],
  allWellText: ["Nothing needs attention.", "Nada precisa de atenção."],
  changesOfHour: ["Changes of the last hour", "Alterações da última hora"],
  changesOfDay: ["Changes of the last day", "Alterações do último dia"],
  allChanges: counted(["change", "changes"], ["alteração", "alterações"]),
  noChanges: ["Nobody changed anything", "Ninguém alterou nada"],
  worst: ["Tenants with the most failures", "Inquilinos com mais falhas"],
  failingWebhooks: ["Failing webhooks", "Webhooks com falha"],
  undelivered: ["Messages not delivered, 24 hours", "Mensagens não entregues, 24 horas"],
  failedReports: [
    "Reports failed or not delivered, 24 hours",
    "Relatórios com falha ou não entregues, 24 horas",
  ],
  allMessages: ["All", "Todas"],
  allWorkers: ["Workers and what they hold", "Executores e o que fazem"],
  throughput: ["Finished attempts", "Tentativas terminadas"],
  throughputLabel: (window: string) => [
    `Finished attempts in the last ${window}`,
    `Tentativas terminadas: ${window}`,
  ],
  hourName: ["hour, by minute", "última hora, por minuto"],
  dayName: ["day, by hour", "último dia, por hora"],
  waiting: ["Waiting", "Aguardando"],
  processing: ["Processing", "Em andamento"],
  scheduled: ["Scheduled", "Agendadas"],
  retrying: ["Failed, will retry", "Falharam, vão repetir"],
  deadLetters: ["Dead letters", "Falhas definitivas"],
  recurring: ["Recurring jobs", "Tarefas recorrentes"],
  pausedOf: (count: number) => [`${count} paused`, `${count} em pausa`],
  jobsTotal: ["Total jobs", "Total de tarefas"],
  average: (time: string) => [`${time} on average`, `${time} em média`],
  oldest: ["Oldest due", "Prevista há mais tempo"],
  queues: ["Queues", "Filas"],
  queuesCaption: [
    "Paused queues and queues with unfinished jobs",
    "Filas em pausa e filas com tarefas não concluídas",
  ],
  state: ["State", "Estado"],
  pausedForAll: ["Paused for all tenants", "Em pausa para todos os inquilinos"],
  noQueues: ["No waiting or running jobs", "Sem tarefas em espera ou em andamento"],
  deliveries: ["Messages of the last 24 hours", "Mensagens das últimas 24 horas"],
  sent: ["Sent", "Enviadas"],
  failedMessages: ["Failed", "Com falha"],
  deadLettered: ["Dead-lettered", "Não entregues"],
  deliveredShare: (share: string) => [`${share} delivered`, `${share} entregues`],
  noMessages: ["No messages in the last 24 hours", "Sem mensagens nas últimas 24 horas"],
  scannerUnavailable: ["The scan engine is unavailable", "O motor de análise está indisponível"],
  scannerUnavailableText: [
    "Files keep the status Scanning until the engine answers. Check that the scanner is running.",
    "Os arquivos ficam em análise até o motor responder. Verifique se o antivírus está funcionando.",
  ],
  engine: ["Engine", "Motor"],
  hoursOld: (hours: string) => [`${hours} h old`, `com ${hours} h`],
  ageUnknown: ["age unknown", "idade desconhecida"],
  stale: ["outdated", "desatualizadas"],
  instances: ["Instances", "Instâncias"],
  instancesCaption: ["Worker instances", "Instâncias que executam tarefas"],
  host: ["Host", "Máquina"],
  since: ["Started", "Início"],
  heartbeat: ["Last heartbeat", "Último sinal"],
  claimed: ["Claimed jobs", "Tarefas reservadas"],
  noInstances: ["No worker instance is running", "Nenhuma instância executa tarefas"],
  reports: ["Latest reports", "Últimos relatórios"],
  reportsCaption: ["Latest report runs", "Últimas execuções de relatórios"],
  noReports: ["No reports yet", "Ainda não há relatórios"],
  created: ["Requested", "Pedido"],
});

/** One text per kind of problem, with the API's `count` and `subject`. */
export const attentionTexts = defineTexts({
  NoWorkers: () => [
    "No worker instance is running, so no jobs run. Start an instance that runs jobs.",
    "Nenhuma instância executa tarefas, por isso nenhuma tarefa é executada. Inicie uma instância que execute tarefas.",
  ],
  ScannerUnavailable: () => [
    "The scan engine is unavailable, so files wait. Check that the scanner is running.",
    "O motor de análise está indisponível, por isso os arquivos esperam. Verifique se o antivírus está funcionando.",
  ],
  QueueStuck: (count: number, queue: string) => [
    `Queue ${queue} is delayed: ${count} waiting, the oldest for more than five minutes.`,
    `A fila ${queue} está atrasada: ${count} em espera, a mais antiga há mais de cinco minutos.`,
  ],
  DeadLetters: counted(
    ["dead letter is open. Retry or purge it.", "dead letters are open. Retry or purge them."],
    [
      "falha definitiva pendente. Repita-a ou limpe-a.",
      "falhas definitivas pendentes. Repita-as ou limpe-as.",
    ],
  ),
  NotificationsFailed: counted(
    [
      "message failed in the last 24 hours and is not delivered yet.",
      "messages failed in the last 24 hours and are not delivered yet.",
    ],
    [
      "mensagem das últimas 24 horas falhou e ainda não foi entregue.",
      "mensagens das últimas 24 horas falharam e ainda não foram entregues.",
    ],
  ),
  NotificationsDeadLettered: counted(
    ["message was dead-lettered in the last 24 hours.", "messages were dead-lettered in the last 24 hours."],
    [
      "mensagem das últimas 24 horas não foi entregue.",
      "mensagens das últimas 24 horas não foram entregues.",
    ],
  ),
  ReportsFailed: counted(
    ["report failed in the last 24 hours.", "reports failed in the last 24 hours."],
    ["relatório falhou nas últimas 24 horas.", "relatórios falharam nas últimas 24 horas."],
  ),
  ReportsUndelivered: counted(
    [
      "report of the last 24 hours did not reach all recipients.",
      "reports of the last 24 hours did not reach all recipients.",
    ],
    [
      "relatório das últimas 24 horas não chegou a todos os destinatários.",
      "relatórios das últimas 24 horas não chegaram a todos os destinatários.",
    ],
  ),
  WebhooksFailing: counted(
    ["webhook endpoint fails.", "webhook endpoints fail."],
    ["webhook falha.", "webhooks falham."],
  ),
  FilesInfected: counted(
    ["file of the last 24 hours is infected.", "files of the last 24 hours are infected."],
    ["arquivo das últimas 24 horas está infectado.", "arquivos das últimas 24 horas estão infectados."],
  ),
  MaintenanceLate: (minutes: number, name: string) => [
    `Maintenance job ${name} is late by ${minutes} minutes.`,
    `A tarefa de manutenção ${name} está ${minutes} minutos atrasada.`,
  ],
  SuppressionsRising: counted(
    [
      "address was suppressed in the last 24 hours, unusually many.",
      "addresses were suppressed in the last 24 hours, unusually many.",
    ],
    [
      "endereço foi suprimido nas últimas 24 horas, mais do que o normal.",
      "endereços foram suprimidos nas últimas 24 horas, mais do que o normal.",
    ],
  ),
  QueuePaused: (_count: number, queue: string) => [
    `Queue ${queue} is paused.`,
    `A fila ${queue} está em pausa.`,
  ],
  TypePaused: (_count: number, type: string) => [
    `Job type ${type} is paused.`,
    `O tipo de tarefa ${type} está em pausa.`,
  ],
  JobsRetrying: counted(
    ["job failed and waits for a retry.", "jobs failed and wait for a retry."],
    ["tarefa falhou e espera por nova tentativa.", "tarefas falharam e esperam por nova tentativa."],
  ),
  ScannerStale: () => [
    "The scanner's signatures are outdated, or their age is unknown. Update them.",
    "As assinaturas do antivírus estão desatualizadas ou têm idade desconhecida. Atualize-as.",
  ],
  TenantsAtCapacity: counted(
    ["tenant has reached its user limit.", "tenants have reached their user limit."],
    ["inquilino atingiu o limite de usuários.", "inquilinos atingiram o limite de usuários."],
  ),
  RecurringPaused: counted(
    ["recurring job is paused.", "recurring jobs are paused."],
    ["tarefa recorrente está em pausa.", "tarefas recorrentes estão em pausa."],
  ),
  SchedulesPaused: counted(
    ["report schedule is paused.", "report schedules are paused."],
    ["agendamento de relatório está em pausa.", "agendamentos de relatórios estão em pausa."],
  ),
});
