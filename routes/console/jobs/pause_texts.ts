import { sectionTexts } from "../shared/labels.ts";

export const pauseTexts = sectionTexts({
  queueIs: ["Queue", "A fila"],
  typeIs: ["Job type", "O tipo de tarefa"],
  isPaused: ["is paused", "está em pausa"],
  forAll: ["for all tenants", "para todos os inquilinos"],
  noReason: ["no reason was given", "sem motivo indicado"],
  intro: [
    "Waiting jobs do not start until it is resumed. Running jobs finish.",
    "As tarefas à espera não começam até que seja retomada. As que estão em execução terminam.",
  ],
  introAll: [
    "Waiting jobs of all tenants do not start until it is resumed. Running jobs finish.",
    "As tarefas à espera de todos os inquilinos não começam até que seja retomada. As que estão em execução terminam.",
  ],
  pauseQueue: (name: string) => [`Pause queue ${name}`, `Pausar a fila ${name}`],
  pauseType: (name: string) => [`Pause job type ${name}`, `Pausar o tipo de tarefa ${name}`],
  reasonHint: [
    "Shown to everyone who wonders why these jobs wait.",
    "Visível para quem quer saber por que estas tarefas esperam.",
  ],
  queuePaused: [
    "The queue is paused. Its waiting jobs do not start.",
    "A fila está em pausa. As tarefas à espera não começam.",
  ],
  queueResumed: ["The queue is resumed.", "A fila foi retomada."],
  typePaused: [
    "The job type is paused. Its waiting jobs do not start.",
    "O tipo de tarefa está em pausa. As tarefas à espera não começam.",
  ],
  typeResumed: ["The job type is resumed.", "O tipo de tarefa foi retomado."],
});
