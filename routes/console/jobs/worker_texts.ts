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
  since: ["Since", "Desde"],
  heartbeat: ["Last sign", "Último sinal"],
});
