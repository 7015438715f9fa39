import { sectionTexts } from "../shared/labels.ts";
import { defineTexts } from "../shared/languages.ts";

/** Texts of the suppression list. */
export const suppressionTexts = sectionTexts({
  title: ["Suppressed addresses", "Endereços suprimidos"],
  intro: [
    "Messages are not sent to these addresses. Mail servers or SMS gateways reported them as undeliverable, or someone added them.",
    "As mensagens não são enviadas para estes endereços. Os servidores de e-mail ou SMS indicaram que não recebem mensagens, ou alguém os adicionou.",
  ],
  caption: ["Suppressed addresses, newest first", "Endereços suprimidos, os mais recentes primeiro"],
  search: ["Search addresses", "Buscar endereços"],
  detail: ["Details", "Detalhes"],
  message: ["the message", "a mensagem"],
  add: ["Suppress an address", "Suprimir um endereço"],
  addIt: ["Suppress", "Suprimir"],
  added: ["The address was suppressed.", "O endereço foi suprimido."],
  remove: ["Remove", "Remover"],
  removeConfirm: (address: string) => [
    `Remove ${address} from the list? Messages are then sent to it again.`,
    `Remover ${address} da lista? As mensagens voltam a ser enviadas para este endereço.`,
  ],
  removed: [
    "The address was removed. Messages are sent to it again.",
    "O endereço foi removido. As mensagens voltam a ser enviadas para ele.",
  ],
  empty: ["No suppressed addresses", "Sem endereços suprimidos"],
  emptyText: [
    "Addresses that mail servers or SMS gateways report as undeliverable are added automatically.",
    "Os endereços que os servidores de e-mail ou SMS indicam como inválidos são adicionados automaticamente.",
  ],
});

/** The reason as the end of a sentence: "is suppressed because …". */
export const suppressionBecause = defineTexts({
  HardBounce: ["of a bounce", "de uma devolução"],
  Unsubscribed: ["the recipient unsubscribed", "de o destinatário ter cancelado a inscrição"],
  Complaint: ["of a complaint", "de uma reclamação"],
  Manual: ["someone added it", "de alguém o ter adicionado"],
});

export const suppressionReasonLabels = defineTexts({
  HardBounce: ["Undeliverable address", "Endereço inválido"],
  Unsubscribed: ["Unsubscribed", "Cancelou a inscrição"],
  Complaint: ["Complaint", "Queixa"],
  Manual: ["Added manually", "Adicionado manualmente"],
});
