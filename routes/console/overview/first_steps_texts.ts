import { defineTexts } from "../shared/languages.ts";

/** Texts of the checklist for an empty installation. */
export const firstStepsTexts = defineTexts({
  title: ["First steps", "Primeiros passos"],
  intro: [
    "What a new installation needs. Each step is ticked once it is done.",
    "O que uma instalação nova precisa. Cada passo é marcado quando está feito.",
  ],
  progress: (done: number, all: number) => [`${done} of ${all} done`, `${done} de ${all} feitos`],
  dismiss: ["Do not show again", "Não mostrar de novo"],
  allDone: ["All first steps are done.", "Todos os primeiros passos estão feitos."],
  show: ["Show the first steps", "Mostrar os primeiros passos"],
  done: ["done", "feito"],
  open: ["open", "por fazer"],
  tenant: ["Create a tenant", "Criar um inquilino"],
  tenantHint: [
    "Users, roles, messages and files belong to a tenant.",
    "Usuários, papéis, mensagens e arquivos pertencem a um inquilino.",
  ],
  invite: ["Invite a colleague", "Convidar um colega"],
  inviteHint: ["So that you are not the only administrator.", "Para você não ser o único administrador."],
  mail: ["Connect a mail server", "Conectar um servidor de e-mail"],
  mailHint: [
    "Set SMTP_URL. In development, messages are stored in the outbox.",
    "Defina SMTP_URL. No desenvolvimento, as mensagens ficam na caixa de saída.",
  ],
  message: ["Send a test message", "Enviar uma mensagem de teste"],
  messageHint: ["To yourself, to see that messages arrive.", "Para você, para ver se as mensagens chegam."],
  job: ["Run the first job", "Executar a primeira tarefa"],
  jobHint: [
    "In development, steward.echo does nothing but return its arguments.",
    "No desenvolvimento, steward.echo só devolve seus argumentos.",
  ],
  key: ["Create an API key", "Criar uma chave de API"],
  keyHint: ["With it, your programs call the API.", "Com ela, seus programas chamam a API."],
  docs: ["Read the API reference", "Ler a referência da API"],
  docsHint: ["Every operation can be tried there.", "Cada operação pode ser testada ali."],
});
