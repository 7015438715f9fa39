import { sectionTexts } from "./labels.ts";

/** Texts about users who act as others. */
export const delegationTexts = sectionTexts({
  title: ["Acting as users", "Agir como usuários"],
  ownTitle: ["Who acted as you", "Quem agiu em seu nome"],
  none: ["Nobody acted as a user yet", "Ainda ninguém agiu como usuário"],
  noneText: [
    "Open a user and choose “View as” to see what the user sees.",
    "Abra um usuário e escolha “Ver como” para ver o que o usuário vê.",
  ],
  users: ["Users", "Usuários"],
  actor: ["Who", "Quem"],
  user: ["As", "Como"],
  worksHere: ["works in the tenant", "trabalha no inquilino"],
  viewAs: (name: string) => [`View as ${name}`, `Ver como ${name}`],
  viewAsText: [
    "You see what the user sees. The user gets a mail with your name and the reason, and can end it. The audit log names you both.",
    "Vê o que o usuário vê. O usuário recebe um e-mail com o seu nome e o motivo, e pode terminar. O registro de auditoria nomeia os dois.",
  ],
  workFor: ["Work in it for a limited time", "Trabalhar nele por tempo limitado"],
  workText: [
    "You do not join the tenant, and your other sessions stay. The audit log of the tenant shows what you do.",
    "Não entra no inquilino, e as suas outras sessões ficam. O registro de auditoria do inquilino mostra o que faz.",
  ],
  reason: ["Reason", "Motivo"],
  reasonHint: ["The user and the audit log show it.", "O usuário e o registro de auditoria mostram isso."],
  minutes: ["For how long", "Durante quanto tempo"],
  minutesOf: (minutes: string) => [`${minutes} minutes`, `${minutes} minutos`],
  mayWrite: ["May change things too, not only read", "Também pode alterar, não só ler"],
  asked: (name: string) => [
    `${name} was asked. You can begin as soon as the user allows it.`,
    `${name} recebeu o pedido. Pode começar assim que o usuário o permitir.`,
  ],
  begin: ["Begin", "Começar"],
  end: ["End", "Terminar"],
  ended: ["It has ended. You are yourself again.", "Terminou. Volta a ser você."],
  allow: ["Allow", "Permitir"],
  refuse: ["Refuse", "Recusar"],
  allowed: ["It was allowed.", "Foi permitido."],
  refused: ["It was refused.", "Foi recusado."],
  Requested: ["Waits for the user", "Aguarda o usuário"],
  Allowed: ["Allowed", "Permitido"],
  Refused: ["Refused", "Recusado"],
  Open: ["Open", "Aberto"],
  Ended: ["Ended", "Terminado"],
});
