import { sectionTexts } from "../shared/labels.ts";

export const pauseTexts = sectionTexts({
  queueIs: ["Queue", "A fila"],
  typeIs: ["Job type", "O tipo de tarefa"],
  isPaused: ["is paused", "está em pausa"],
  forAll: ["for all tenants", "para todos os inquilinos"],
  noReason: ["no reason was given", "sem motivo indicado"],
  intro: (reach: string) => [
    `Waiting jobs ${reach} do not start until it is resumed. Running jobs finish.`,
    `As tarefas à espera ${reach} não começam até que seja retomada. As que estão em execução terminam.`,
  ],
  pauseIn: (reach: string) => [`Pause ${reach}`, `Pausar ${reach}`],
  resumeIn: (reach: string) => [`Resume ${reach}`, `Retomar ${reach}`],
  toService: ["Switch to the whole service to resume", "Mudar para todo o serviço para retomar"],
  pauseQueue: (name: string, reach: string) => [
    `Pause queue ${name} ${reach}`,
    `Pausar a fila ${name} ${reach}`,
  ],
  pauseType: (name: string, reach: string) => [
    `Pause job type ${name} ${reach}`,
    `Pausar o tipo de tarefa ${name} ${reach}`,
  ],
  reasonHint: [
    "Shown to everyone who wonders why these jobs wait.",
    "Visível para quem quer saber por que estas tarefas esperam.",
  ],
  queuePaused: (name: string, reach: string) => [
    `Queue ${name} is paused ${reach}. Its waiting jobs do not start.`,
    `A fila ${name} está em pausa ${reach}. As tarefas à espera não começam.`,
  ],
  queueResumed: (name: string, reach: string) => [
    `Queue ${name} is resumed ${reach}.`,
    `A fila ${name} foi retomada ${reach}.`,
  ],
  typePaused: (name: string, reach: string) => [
    `Job type ${name} is paused ${reach}. Its waiting jobs do not start.`,
    `O tipo de tarefa ${name} está em pausa ${reach}. As tarefas à espera não começam.`,
  ],
  typeResumed: (name: string, reach: string) => [
    `Job type ${name} is resumed ${reach}.`,
    `O tipo de tarefa ${name} foi retomado ${reach}.`,
  ],
});
