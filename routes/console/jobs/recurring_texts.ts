import { sectionTexts } from "../shared/labels.ts";

export const recurringJobTexts = sectionTexts({
  title: ["Recurring jobs", "Tarefas recorrentes"],
  caption: ["Recurring jobs by id", "Tarefas recorrentes por id"],
  create: ["Create a recurring job", "Criar uma tarefa recorrente"],
  idHint: [
    "Letters, digits, dot, dash, underscore and colon. It cannot be changed later.",
    "Letras, dígitos, ponto, hífen, sublinhado e dois pontos. Não pode ser alterado depois.",
  ],
  lastRuns: ["Latest runs", "Últimas execuções"],
  lastRunsCaption: [
    "The latest jobs it created, newest first",
    "As últimas tarefas que criou, as mais recentes primeiro",
  ],
  active: ["Active", "Ativa"],
  pausedText: [
    "The recurring job is paused. After you resume it, it runs at these times.",
    "A tarefa recorrente está em pausa. Depois de a retomar, é executada nestas horas.",
  ],
  removeConfirm: (id: string) => [
    `Delete the recurring job ${id}? The jobs it created are kept.`,
    `Excluir a tarefa recorrente ${id}? As tarefas que criou são mantidas.`,
  ],
  removed: ["The recurring job was deleted.", "A tarefa recorrente foi excluída."],
  created: ["The recurring job was created.", "A tarefa recorrente foi criada."],
  saved: ["The recurring job was saved.", "A tarefa recorrente foi salva."],
  pausedNow: ["The recurring job is paused.", "A tarefa recorrente está em pausa."],
  resumed: ["The recurring job runs on its schedule again.", "A tarefa recorrente voltou ao seu horário."],
  triggered: ["A run was queued.", "Uma execução foi colocada na fila."],
  empty: ["No recurring jobs yet", "Ainda não há tarefas recorrentes"],
  emptyText: [
    "A recurring job runs a job type on a schedule.",
    "Uma tarefa recorrente executa um tipo de tarefa segundo um horário.",
  ],
  noRuns: ["No runs yet", "Ainda sem execuções"],
});
