import { sectionTexts } from "../shared/labels.ts";

export const upcomingTexts = sectionTexts({
  title: ["Next 24 hours", "Próximas 24 horas"],
  caption: [
    "What will happen in the next 24 hours, in order of time",
    "O que vai acontecer nas próximas 24 horas, em ordem de tempo",
  ],
  none: ["Nothing is planned", "Nada está previsto"],
  time: ["Time", "Hora"],
  what: ["What", "O quê"],
  name: ["Name", "Nome"],
  count: ["Number", "Número"],
  schedules: ["Next five runs", "Próximas cinco execuções"],
  schedulesCaption: [
    "Active schedules, the next run first, with their next five runs",
    "Agendamentos ativos, a próxima execução primeiro, com suas cinco próximas execuções",
  ],
  noSchedules: ["No active schedules", "Sem agendamentos ativos"],
  runs: (zone: string) => [`Next runs (${zone})`, `Próximas execuções (${zone})`],
  partial: (kinds: string) => [
    `There are too many of these; only the first ones are counted: ${kinds}.`,
    `Há muitos destes; só os primeiros são contados: ${kinds}.`,
  ],
  leftOut: (kinds: string) => [`Not shown to you here: ${kinds}.`, `Não mostrados aqui: ${kinds}.`],
  RecurringJob: ["Recurring job", "Tarefa recorrente"],
  ReportSchedule: ["Report", "Relatório"],
  Job: ["Scheduled jobs", "Tarefas agendadas"],
  Retry: ["Retries", "Novas tentativas"],
  Message: ["Scheduled messages", "Mensagens agendadas"],
  FilePurge: ["Content of files is deleted", "Exclusão do conteúdo de arquivos"],
  ApiKeyExpiry: ["API key expires", "Expira uma chave de API"],
  SetupLinkExpiry: ["Set-up link expires", "Expira um link de configuração"],
});
