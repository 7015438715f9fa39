import { sectionTexts } from "../shared/labels.ts";
import { defineTexts } from "../shared/languages.ts";

/** Texts of the suppression list. */
export const suppressionTexts = sectionTexts({
  title: "Suppressed addresses",
  intro:
    "Messages are not sent to these addresses. Mail servers or SMS gateways reported them as undeliverable, or someone added them.",
  caption: "Suppressed addresses, newest first",
  search: "Search addresses",
  detail: "Details",
  message: "the message",
  add: "Suppress an address",
  addIt: "Suppress",
  added: "The address was suppressed.",
  remove: "Remove",
  removeConfirm: (address: string) => `Remove ${address} from the list? Messages are then sent to it again.`,
  removed: "The address was removed. Messages are sent to it again.",
  empty: "No suppressed addresses",
  emptyText: "Addresses that mail servers or SMS gateways report as undeliverable are added automatically.",
}, {
  title: "Endereços suprimidos",
  intro:
    "As mensagens não são enviadas para estes endereços. Os servidores de e-mail ou SMS indicaram que não recebem mensagens, ou alguém os adicionou.",
  caption: "Endereços suprimidos, os mais recentes primeiro",
  search: "Buscar endereços",
  detail: "Detalhes",
  message: "a mensagem",
  add: "Suprimir um endereço",
  addIt: "Suprimir",
  added: "O endereço foi suprimido.",
  remove: "Remover",
  removeConfirm: (address: string) =>
    `Remover ${address} da lista? As mensagens voltam a ser enviadas para este endereço.`,
  removed: "O endereço foi removido. As mensagens voltam a ser enviadas para ele.",
  empty: "Sem endereços suprimidos",
  emptyText:
    "Os endereços que os servidores de e-mail ou SMS indicam como inválidos são adicionados automaticamente.",
});

/** The reason as the end of a sentence: "is suppressed because …". */
export const suppressionBecause = defineTexts({
  HardBounce: "of a bounce",
  Unsubscribed: "the recipient unsubscribed",
  Complaint: "of a complaint",
  Manual: "someone added it",
}, {
  HardBounce: "de uma devolução",
  Unsubscribed: "de o destinatário ter cancelado a inscrição",
  Complaint: "de uma queixa",
  Manual: "de alguém o ter adicionado",
});

export const suppressionReasonLabels = defineTexts(
  {
    HardBounce: "Undeliverable address",
    Unsubscribed: "Unsubscribed",
    Complaint: "Complaint",
    Manual: "Added manually",
  },
  {
    HardBounce: "Endereço inválido",
    Unsubscribed: "Cancelou a subscrição",
    Complaint: "Queixa",
    Manual: "Adicionado manualmente",
  },
);
