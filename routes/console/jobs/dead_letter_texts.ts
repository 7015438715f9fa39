import { sectionTexts } from "../shared/labels.ts";
import { counted, withCount } from "../shared/languages.ts";

export const deadLetterTexts = sectionTexts({
  title: ["Dead letters", "Falhas definitivas"],
  views: ["Views", "Vistas"],
  byError: ["By error", "Por erro"],
  list: ["List", "Lista"],
  groupsCaption: [
    "Open dead letters by job type and error, largest group first",
    "Falhas pendentes, por tipo de tarefa e erro, o maior grupo primeiro",
  ],
  caption: ["Dead letters, newest first", "Falhas definitivas, as mais recentes primeiro"],
  noError: ["no message", "sem mensagem"],
  first: ["First failure", "Primeira falha"],
  last: ["Last failure", "Última falha"],
  failed: ["Failed", "Falhou"],
  open: ["Open", "Pendentes"],
  isOpen: ["Open", "Pendente"],
  retried: ["Retried", "Repetida"],
  onlyOpen: ["Open only", "Só pendentes"],
  onlyRetried: ["Retried only", "Só repetidas"],
  group: ["Group", "Grupo"],
  retry: ["Retry", "Repetir"],
  retryDone: ["The job was queued again.", "A tarefa foi colocada de novo na fila."],
  retryMany: ["Retry several", "Repetir várias"],
  retryGroup: ["Retry the group", "Repetir o grupo"],
  purgeGroup: ["Purge the group", "Excluir o grupo"],
  groupOf: (type: string) => [
    `Dead letters of ${type} with the same error`,
    `Falhas definitivas de ${type} com o mesmo erro`,
  ],
  allOfThem: ["All dead letters", "Todas as falhas definitivas"],
  allHint: [
    "Without another field, tick this to select all. A purge then also deletes those that were retried.",
    "Sem outro campo, marque para selecionar todas. Uma exclusão abrange então também as já repetidas.",
  ],
  chooseSome: [
    "Fill in a field, or tick that you mean all dead letters.",
    "Preencha um campo, ou marque que se trata de todas as falhas definitivas.",
  ],
  countAgain: [
    "The fields have changed since the count. Check the new count.",
    "Os campos mudaram desde a contagem. Verifique a nova contagem.",
  ],
  purgeThese: (count: number) => [
    `Purge ${withCount("en", count, "dead letter", "dead letters")}`,
    `Excluir ${withCount("pt", count, "falha definitiva", "falhas definitivas")}`,
  ],
  retryTitle: ["Retry dead letters", "Repetir falhas definitivas"],
  retryIntro: [
    "Count first: exactly those that match all fields are retried, and only after you confirm.",
    "Conte primeiro: são repetidas exatamente as que correspondem a todos os campos, e só depois de confirmar.",
  ],
  contains: ["Error contains", "O erro contém"],
  from: ["Failed from", "Falhou desde"],
  to: ["Failed to", "Falhou até"],
  countFirst: ["Count", "Contar"],
  noMatch: ["No dead letter matches. Change the fields.", "Nenhuma falha corresponde. Altere os campos."],
  retryEffect: (count: number, reach: string) => [
    `${withCount("en", count, "job", "jobs")} ${reach} will be queued again, with new attempts.`,
    `${withCount("pt", count, "tarefa", "tarefas")} ${reach}: de novo na fila, com novas tentativas.`,
  ],
  purgeEffect: (count: number, reach: string) => [
    `${withCount("en", count, "dead letter", "dead letters")} ${reach} will be deleted permanently.`,
    `${withCount("pt", count, "falha", "falhas")} ${reach}: exclusão definitiva.`,
  ],
  retryThese: (count: number) => [
    `Retry ${withCount("en", count, "job", "jobs")}`,
    `Repetir ${withCount("pt", count, "tarefa", "tarefas")}`,
  ],
  retriedMany: counted(
    ["job was queued again.", "jobs were queued again."],
    ["tarefa foi colocada de novo na fila.", "tarefas foram colocadas de novo na fila."],
  ),
  purge: ["Purge", "Excluir"],
  purgeTitle: ["Purge dead letters", "Excluir falhas definitivas"],
  purgeIntro: [
    "Count first: exactly those that match all fields are deleted, and only after you confirm. They cannot be retried then. Their jobs are kept until their retention ends.",
    "Conte primeiro: são excluídas exatamente as que correspondem a todos os campos, e só depois de confirmar. Elas não poderão mais ser repetidas. As tarefas ficam até o fim da sua conservação.",
  ],
  purged: counted(
    ["dead letter was purged.", "dead letters were purged."],
    ["falha foi excluída.", "falhas foram excluídas."],
  ),
  empty: ["No dead letters", "Sem falhas definitivas"],
  emptyText: [
    "Jobs that used up their retries appear here.",
    "As tarefas que esgotaram as repetições aparecem aqui.",
  ],
  newJob: ["New job", "Nova tarefa"],
});
