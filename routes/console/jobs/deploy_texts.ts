import { sectionTexts } from "../shared/labels.ts";

export const deployTexts = sectionTexts({
  title: ["Deploys", "Implantações"],
  intro: [
    "A mark compares jobs before and after it. The first start of a new version of the service makes one.",
    "Uma marca compara as tarefas antes e depois dela. O primeiro início de uma nova versão do serviço cria uma.",
  ],
  caption: ["Marks of deploys, newest first", "Marcas de implantações, as mais recentes primeiro"],
  empty: ["No marks", "Sem marcas"],
  add: ["Mark a deploy", "Marcar uma implantação"],
  name: ["Name", "Nome"],
  at: ["Time (empty: now)", "Hora (vazia: agora)"],
  added: ["The deploy is marked.", "A implantação foi marcada."],
  byService: ["the service itself", "o próprio serviço"],
  time: ["Time", "Hora"],
  jobType: ["Job type", "Tipo de tarefa"],
  before: ["Before", "Antes"],
  after: ["After", "Depois"],
  span: (from: string, to: string) => [`${from} to ${to}`, `${from} a ${to}`],
  hours: (count: number) => [`${count} h`, `${count} h`],
  length: ["Hours before and after", "Horas antes e depois"],
  compareCaption: [
    "Attempts, failure rate and p95 of the duration of each job type, before and after the mark",
    "Tentativas, taxa de falhas e p95 da duração de cada tipo de tarefa, antes e depois da marca",
  ],
  volume: ["Attempts", "Tentativas"],
  failureRate: ["Failure rate", "Taxa de falhas"],
  p95: ["p95 duration", "p95 da duração"],
  none: ["No attempts ended", "Nenhuma tentativa terminou"],
  noneText: [
    "No job ran in these hours. Statistics are kept for 15 days.",
    "Nenhuma tarefa foi executada nestas horas. As estatísticas são mantidas por 15 dias.",
  ],
});
