import { defineTexts } from "../shared/languages.ts";

export const overviewTexts = defineTexts({
  title: "Overview",
  attention: "What needs attention",
  allWell: "All is well",
  allWellText: "Nothing waits for you here.",
  throughput: "Attempts that ended",
  throughputLabel: (window: string) => `Attempts that ended in the last ${window}`,
  window: "Period",
  hour: "Last hour",
  day: "Last day",
  hourName: "hour, minute by minute",
  dayName: "day, hour by hour",
  succeeded: "succeeded",
  failed: "failed",
  abandoned: "cut short",
  waiting: "Waiting",
  processing: "Processing",
  scheduled: "Scheduled",
  retrying: "Failed, will retry",
  deadLetters: "Dead letters",
  recurring: "Recurring jobs",
  pausedOf: (count: number) => `${count} paused`,
  jobsTotal: "Jobs kept",
  average: (time: string) => `${time} on average`,
  oldest: "Oldest waits since",
  queues: "Queues",
  queuesCaption: "Queues with unfinished jobs",
  queue: "Queue",
  noQueues: "No job waits or runs",
  deliveries: "Messages of the last 24 hours",
  sent: "Sent",
  underWay: "Under way",
  failedMessages: "Failed",
  givenUp: "Given up",
  deliveredShare: (share: string) => `${share} delivered`,
  noMessages: "No messages in the last 24 hours",
  scanner: "Scanner",
  scannerAway: "The scan engine does not answer",
  scannerAwayText: "Files wait in Scanning until it does.",
  engine: "Engine",
  database: "Signatures",
  hoursOld: (hours: string) => `${hours} h old`,
  ageUnknown: "of unknown age",
  stale: "stale",
  fresh: "fresh",
  filesWaiting: "Files waiting",
  instances: "Instances",
  instancesCaption: "Instances that work on jobs",
  host: "Host",
  since: "Started",
  heartbeat: "Last sign of life",
  holds: "Jobs held",
  noInstances: "No instance works on jobs",
  reports: "Latest reports",
  reportsCaption: "Latest report runs",
  report: "Report",
  noReports: "No reports yet",
  status: "Status",
  created: "Requested",
}, {
  title: "Visão geral",
  attention: "O que precisa de atenção",
  allWell: "Está tudo bem",
  allWellText: "Nada espera por si aqui.",
  throughput: "Tentativas terminadas",
  throughputLabel: (window: string) => `Tentativas terminadas por intervalo: ${window}`,
  window: "Período",
  hour: "Última hora",
  day: "Último dia",
  hourName: "última hora, minuto a minuto",
  dayName: "último dia, hora a hora",
  succeeded: "concluídas",
  failed: "falhadas",
  abandoned: "interrompidas",
  waiting: "À espera",
  processing: "Em curso",
  scheduled: "Agendadas",
  retrying: "Falharam, vão repetir",
  deadLetters: "Sem solução",
  recurring: "Recorrentes",
  pausedOf: (count: number) => `${count} em pausa`,
  jobsTotal: "Tarefas guardadas",
  average: (time: string) => `${time} em média`,
  oldest: "A mais antiga espera desde",
  queues: "Filas",
  queuesCaption: "Filas com tarefas por acabar",
  queue: "Fila",
  noQueues: "Nenhuma tarefa espera ou corre",
  deliveries: "Mensagens das últimas 24 horas",
  sent: "Enviadas",
  underWay: "A caminho",
  failedMessages: "Falhadas",
  givenUp: "Não entregues",
  deliveredShare: (share: string) => `${share} entregues`,
  noMessages: "Sem mensagens nas últimas 24 horas",
  scanner: "Antivírus",
  scannerAway: "O motor de análise não responde",
  scannerAwayText: "Os ficheiros esperam em análise até que responda.",
  engine: "Motor",
  database: "Assinaturas",
  hoursOld: (hours: string) => `com ${hours} h`,
  ageUnknown: "de idade desconhecida",
  stale: "desatualizadas",
  fresh: "atuais",
  filesWaiting: "Ficheiros à espera",
  instances: "Instâncias",
  instancesCaption: "Instâncias que executam tarefas",
  host: "Máquina",
  since: "Início",
  heartbeat: "Último sinal de vida",
  holds: "Tarefas que tem",
  noInstances: "Nenhuma instância executa tarefas",
  reports: "Últimos relatórios",
  reportsCaption: "Últimas execuções de relatórios",
  report: "Relatório",
  noReports: "Ainda não há relatórios",
  status: "Estado",
  created: "Pedido",
});

/** What each kind of attention says; `count` and `subject` as the API gives them. */
export const attentionTexts = defineTexts({
  NoWorkers: () => "No instance works on jobs: nothing runs.",
  ScannerUnavailable: () => "The scan engine does not answer; files wait.",
  QueueStuck: (count: number, queue: string) =>
    `Queue ${queue} is behind: ${count} waiting, the oldest for more than five minutes.`,
  DeadLetters: (count: number) =>
    count === 1 ? "1 dead letter waits for a decision." : `${count} dead letters wait for a decision.`,
  NotificationsFailed: (count: number) =>
    count === 1
      ? "1 message of the last 24 hours has failed so far."
      : `${count} messages of the last 24 hours have failed so far.`,
  NotificationsDeadLettered: (count: number) =>
    count === 1
      ? "1 message of the last 24 hours was given up."
      : `${count} messages of the last 24 hours were given up.`,
  ReportsFailed: (count: number) =>
    count === 1 ? "1 report failed in the last 24 hours." : `${count} reports failed in the last 24 hours.`,
  ScannerStale: () => "The scanner's signatures are old, or of unknown age.",
  TenantsAtCapacity: (count: number) =>
    count === 1
      ? "1 tenant has no room for another user."
      : `${count} tenants have no room for another user.`,
  RecurringPaused: (count: number) =>
    count === 1 ? "1 recurring job is paused." : `${count} recurring jobs are paused.`,
  SchedulesPaused: (count: number) =>
    count === 1 ? "1 report schedule is paused." : `${count} report schedules are paused.`,
}, {
  NoWorkers: () => "Nenhuma instância executa tarefas: nada corre.",
  ScannerUnavailable: () => "O motor de análise não responde; os ficheiros esperam.",
  QueueStuck: (count: number, queue: string) =>
    `A fila ${queue} está atrasada: ${count} à espera, a mais antiga há mais de cinco minutos.`,
  DeadLetters: (count: number) =>
    count === 1
      ? "1 tarefa sem solução espera uma decisão."
      : `${count} tarefas sem solução esperam uma decisão.`,
  NotificationsFailed: (count: number) =>
    count === 1
      ? "1 mensagem das últimas 24 horas falhou até agora."
      : `${count} mensagens das últimas 24 horas falharam até agora.`,
  NotificationsDeadLettered: (count: number) =>
    count === 1
      ? "1 mensagem das últimas 24 horas não foi entregue."
      : `${count} mensagens das últimas 24 horas não foram entregues.`,
  ReportsFailed: (count: number) =>
    count === 1
      ? "1 relatório falhou nas últimas 24 horas."
      : `${count} relatórios falharam nas últimas 24 horas.`,
  ScannerStale: () => "As assinaturas do antivírus são antigas ou de idade desconhecida.",
  TenantsAtCapacity: (count: number) =>
    count === 1
      ? "1 inquilino não tem lugar para mais utilizadores."
      : `${count} inquilinos não têm lugar para mais utilizadores.`,
  RecurringPaused: (count: number) =>
    count === 1 ? "1 tarefa recorrente está em pausa." : `${count} tarefas recorrentes estão em pausa.`,
  SchedulesPaused: (count: number) =>
    count === 1
      ? "1 agendamento de relatório está em pausa."
      : `${count} agendamentos de relatórios estão em pausa.`,
});
