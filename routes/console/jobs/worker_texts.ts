import { sectionTexts } from "../shared/labels.ts";

export const workerTexts = sectionTexts({
  title: ["Workers", "Executores"],
  caption: ["Workers that are alive, by host", "Executores ativos, por máquina"],
  none: ["No worker is running", "Nenhum executor está ativo"],
  noneText: [
    "No jobs run. Start an instance that runs jobs, or a worker of your own.",
    "Nenhuma tarefa é executada. Inicie uma instância que execute tarefas, ou um executor próprio.",
  ],
  otherAreas: (areas: string) => [
    `Instances differ in AREAS; give all the same value. ${areas}`,
    `As instâncias diferem em AREAS; dê a todas o mesmo valor. ${areas}`,
  ],
  worker: ["Worker", "Executor"],
  jobs: ["Jobs that it holds", "Tarefas que executa"],
  ofHost: (workers: number, jobs: number) => [
    `${workers === 1 ? "1 worker" : `${workers} workers`}, ${jobs === 1 ? "1 job" : `${jobs} jobs`}`,
    `${workers === 1 ? "1 executor" : `${workers} executores`}, ${
      jobs === 1 ? "1 tarefa" : `${jobs} tarefas`
    }`,
  ],
  ended: ["Not running", "Não está ativo"],
  endedText: [
    "The worker has ended. Its jobs were settled, or other workers run them again.",
    "O executor terminou. Suas tarefas foram concluídas, ou outros executores as executam de novo.",
  ],
  embedded: ["Part of the service", "Parte do serviço"],
  remote: ["Own worker", "Executor próprio"],
  program: ["Program", "Programa"],
  unknownProgram: ["not named", "não indicado"],
  holds: ["Holds", "Executa"],
  nothing: ["nothing", "nada"],
  more: (count: number) => [`and ${count} more`, `e mais ${count}`],
  heartbeat: ["Last sign", "Último sinal"],
});

export const deployTexts = sectionTexts({
  title: ["Deploys", "Implantações"],
  intro: [
    "A mark compares jobs before and after it. The first start of a new version of the service makes one.",
    "Uma marca compara as tarefas antes e depois dela. O primeiro início de uma nova versão do serviço cria uma.",
  ],
  caption: ["Marks of deploys, newest first", "Marcas de implantações, as mais recentes primeiro"],
  empty: ["No marks", "Sem marcas"],
  add: ["Mark a deploy", "Marcar uma implantação"],
  at: ["Time (empty: now)", "Hora (vazia: agora)"],
  added: ["The deploy is marked.", "A implantação foi marcada."],
  byService: ["the service itself", "o próprio serviço"],
  span: (from: string, to: string) => [`${from} to ${to}`, `${from} a ${to}`],
  hours: (count: number) => [`${count} h`, `${count} h`],
  length: ["Hours before and after", "Horas antes e depois"],
  compareCaption: [
    "Attempts, failure rate and p95 of the duration of each job type, before and after the mark",
    "Tentativas, taxa de falhas e p95 da duração de cada tipo de tarefa, antes e depois da marca",
  ],
  p95: ["p95 duration", "p95 da duração"],
  none: ["No attempts ended", "Nenhuma tentativa terminou"],
  noneText: [
    "No job ran in these hours. Statistics are kept for 15 days.",
    "Nenhuma tarefa foi executada nestas horas. As estatísticas são mantidas por 15 dias.",
  ],
});

export const pauseTexts = sectionTexts({
  queue: ["Queue", "A fila"],
  type: ["Job type", "O tipo de tarefa"],
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
  pauseIt: (what: string, name: string, reach: string) => [
    `Pause ${what} ${name} ${reach}`,
    `Pausar ${what} ${name} ${reach}`,
  ],
  reasonHint: [
    "Shown to everyone who wonders why these jobs wait.",
    "Visível para quem quer saber por que estas tarefas esperam.",
  ],
  nowPaused: (what: string, name: string, reach: string) => [
    `${what} ${name} is paused ${reach}. Its waiting jobs do not start.`,
    `${what} ${name} está em pausa ${reach}. As tarefas à espera não começam.`,
  ],
  nowResumed: (what: string, name: string, reach: string) => [
    `${what} ${name} is resumed ${reach}.`,
    `${what} ${name} voltou a funcionar ${reach}.`,
  ],
});
