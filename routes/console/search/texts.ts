import { sectionTexts } from "../shared/labels.ts";

export const searchTexts = sectionTexts({
  hint: ["Search by name, email, id or trace id", "Busque por nome, e-mail, id ou id de rastreamento"],
  keys: ["Ctrl K", "Ctrl K"],
  results: ["Results", "Resultados"],
  things: ["With this id", "Com este id"],
  trace: ["Jobs of this trace", "Tarefas deste rastreamento"],
  suppressions: ["Suppressed addresses", "Endereços suprimidos"],
  jobTypes: ["Job types", "Tipos de tarefa"],
  messages: ["Messages", "Mensagens"],
  reports: ["Reports", "Relatórios"],
  schedules: ["Report schedules", "Agendamentos de relatórios"],
  templates: ["Message templates", "Modelos de mensagem"],
  documents: ["Document templates", "Modelos de documentos"],
  apiKeys: ["API keys", "Chaves de API"],
  accounts: ["Service accounts", "Contas de serviço"],
  clients: ["OpenID clients", "Clientes OpenID"],
  webhooks: ["Webhooks", "Webhooks"],
  retry: (reach: string) => [`Retry dead letters ${reach}`, `Repetir falhas definitivas ${reach}`],
  invite: (who: string) => [`Invite ${who || "a user"}`, `Convidar ${who || "um usuário"}`],
  recurring: ["Recurring jobs", "Tarefas recorrentes"],
  runsOf: ["its runs", "suas execuções"],
  moreIn: (group: string) => [`All results: ${group}`, `Todos os resultados: ${group}`],
  start: [
    "Type a name, an email, an id or a trace id.",
    "Digite um nome, um e-mail, um id ou um id de rastreamento.",
  ],
  short: [
    "Type at least three characters to search users, tenants, files and more.",
    "Digite pelo menos três caracteres para procurar usuários, inquilinos, arquivos e mais.",
  ],
  nothing: (q: string, scope: string) => [
    `Nothing found for “${q}” in ${scope}.`,
    `Nada encontrado para “${q}” em ${scope}.`,
  ],
  otherScope: [
    "It may belong to another tenant: switch the tenant and search again.",
    "Pode pertencer a outro inquilino: mude de inquilino e busque de novo.",
  ],
  existsIn: (name: string) => [`exists in ${name}`, `existe em ${name}`],
  elsewhere: ["In other tenants of yours", "Em outros inquilinos seus"],
  account: ["Your account", "Sua conta"],
});
