import { sectionTexts } from "../shared/labels.ts";

/** Texts of report schedules. */
export const scheduleTexts = sectionTexts({
  schedules: "Report schedules",
  caption: "Schedules, newest first",
  newSchedule: "New schedule",
  newOf: (report: string) => `Schedule ${report}`,
  edit: "Edit schedule",
  chooseReport: "Choose a report",
  cronHint:
    "Minute, hour, day of month, month, day of week. Examples: 0 8 * * 1 (Mondays at 8:00), 30 6 1 * * (the first of each month at 6:30).",
  none: "No schedules yet",
  noneText:
    "A schedule generates a report automatically, with the permissions its creator holds at that time.",
  permissionsNote: "It runs with the permissions its creator holds at that time.",
  createdBy: "Created by",
  failures: "Consecutive failures",
  deleteConfirm: (name: string) => `Delete the schedule “${name}”? Its report runs are kept.`,
  created: "The schedule was created.",
  saved: "The schedule was saved.",
  pausedNow: "The schedule is paused.",
  resumed: "The schedule runs again.",
  triggered: "The report was queued.",
  deleted: "The schedule was deleted.",
  recent: "Latest runs",
  all: "All runs",
}, {
  schedules: "Agendamentos de relatórios",
  caption: "Agendamentos, os mais recentes primeiro",
  newSchedule: "Novo agendamento",
  newOf: (report: string) => `Agendar ${report}`,
  edit: "Editar agendamento",
  chooseReport: "Escolha um relatório",
  cronHint:
    "Minuto, hora, dia do mês, mês, dia da semana. Exemplos: 0 8 * * 1 (segundas-feiras às 8:00), 30 6 1 * * (dia 1 de cada mês às 6:30).",
  none: "Ainda não há agendamentos",
  noneText:
    "Um agendamento gera um relatório automaticamente, com as permissões que seu criador tiver nesse momento.",
  permissionsNote: "É executado com as permissões que seu criador tiver nesse momento.",
  createdBy: "Criado por",
  failures: "Falhas consecutivas",
  deleteConfirm: (name: string) => `Excluir o agendamento “${name}”? As execuções são mantidas.`,
  created: "O agendamento foi criado.",
  saved: "O agendamento foi guardado.",
  pausedNow: "O agendamento está em pausa.",
  resumed: "O agendamento foi retomado.",
  triggered: "O relatório foi colocado na fila.",
  deleted: "O agendamento foi eliminado.",
  recent: "Últimas execuções",
  all: "Todas as execuções",
});
