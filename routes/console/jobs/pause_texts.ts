import { sectionTexts } from "../shared/labels.ts";

export const pauseTexts = sectionTexts({
  queueIs: "Queue",
  typeIs: "Job type",
  isPaused: "is paused",
  forAll: "for all tenants",
  noReason: "no reason was given",
  intro: "Waiting jobs do not start until it is resumed. Running jobs finish.",
  introAll: "Waiting jobs of all tenants do not start until it is resumed. Running jobs finish.",
  pauseQueue: (name: string) => `Pause queue ${name}`,
  pauseType: (name: string) => `Pause job type ${name}`,
  reasonHint: "Shown to everyone who wonders why these jobs wait.",
  queuePaused: "The queue is paused. Its waiting jobs do not start.",
  queueResumed: "The queue is resumed.",
  typePaused: "The job type is paused. Its waiting jobs do not start.",
  typeResumed: "The job type is resumed.",
}, {
  queueIs: "A fila",
  typeIs: "O tipo de tarefa",
  isPaused: "está em pausa",
  forAll: "para todos os inquilinos",
  noReason: "sem motivo indicado",
  intro: "As tarefas à espera não começam até que seja retomada. As que estão em execução terminam.",
  introAll:
    "As tarefas à espera de todos os inquilinos não começam até que seja retomada. As que estão em execução terminam.",
  pauseQueue: (name: string) => `Pausar a fila ${name}`,
  pauseType: (name: string) => `Pausar o tipo de tarefa ${name}`,
  reasonHint: "Visível para quem quer saber por que estas tarefas esperam.",
  queuePaused: "A fila está em pausa. As tarefas à espera não começam.",
  queueResumed: "A fila foi retomada.",
  typePaused: "O tipo de tarefa está em pausa. As tarefas à espera não começam.",
  typeResumed: "O tipo de tarefa foi retomado.",
});
