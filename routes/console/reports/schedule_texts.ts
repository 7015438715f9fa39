import { sectionTexts } from "../shared/labels.ts";

/** Texts of report schedules. */
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
  recent: ["Latest runs", "Últimas execuções"],
  all: ["All runs", "Todas as execuções"],
});
