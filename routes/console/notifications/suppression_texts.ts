import { defineTexts } from "../shared/languages.ts";

/** Words of the suppression list. */
export const suppressionTexts = defineTexts({
  title: "Suppressed addresses",
  nav: "Suppressions",
  intro:
    "Messages of this tenant do not go to these addresses: mail servers called them dead, or somebody put them here.",
  caption: "Addresses this tenant's messages no longer go to, newest first",
  search: "Search addresses",
  channel: "Channel",
  address: "Address",
  reason: "Reason",
  detail: "Details",
  since: "Since",
  message: "the message",
  add: "Suppress an address",
  addIt: "Suppress",
  added: "The address is suppressed.",
  lift: "Lift",
  liftConfirm: (address: string) => `Let messages go to ${address} again?`,
  lifted: "Messages go to the address again.",
  empty: "No address is suppressed",
  emptyText: "Addresses that mail servers or SMS gateways call dead appear here by themselves.",
}, {
  title: "Endereços suprimidos",
  nav: "Supressões",
  intro:
    "As mensagens deste inquilino não seguem para estes endereços: os servidores deram-nos como mortos, ou alguém os pôs aqui.",
  caption: "Endereços para onde as mensagens deste inquilino já não seguem, os mais recentes primeiro",
  search: "Procurar endereços",
  channel: "Canal",
  address: "Endereço",
  reason: "Motivo",
  detail: "Detalhes",
  since: "Desde",
  message: "a mensagem",
  add: "Suprimir um endereço",
  addIt: "Suprimir",
  added: "O endereço está suprimido.",
  lift: "Levantar",
  liftConfirm: (address: string) => `Deixar seguir de novo mensagens para ${address}?`,
  lifted: "As mensagens voltam a seguir para o endereço.",
  empty: "Nenhum endereço suprimido",
  emptyText: "Os endereços que os servidores de correio ou SMS dão como mortos aparecem aqui por si.",
});

export const suppressionReasonLabels = defineTexts(
  { HardBounce: "Dead address", Unsubscribed: "Unsubscribed", Complaint: "Complaint", Manual: "By hand" },
  {
    HardBounce: "Endereço morto",
    Unsubscribed: "Cancelou a subscrição",
    Complaint: "Queixa",
    Manual: "Manual",
  },
);
