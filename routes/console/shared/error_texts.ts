import { defineTexts } from "./languages.ts";

/** Texts of pages that are not found or not open to the viewer, and of the ways on from there. */
export const errorTexts = defineTexts({
  notHere: (scope: string) =>
    `There is no such page in ${scope}. The address may be wrong, or what it showed was deleted or belongs to another tenant.`,
  wholeService: "the whole service",
  noScope: "your account",
  needs: (permissions: string, scope: string) => `You need ${permissions} in ${scope}.`,
  askFor: (scope: string) => `Ask an administrator of ${scope} for a role with this permission.`,
  goOn: "Where to go on",
  existsIn: (name: string) => `It exists in ${name}.`,
  switchTo: (name: string) => `Switch to ${name}`,
  switchTenant: "Switch tenant",
  toList: (name: string) => `Go to ${name}`,
  toOverview: "Go to the overview",
  search: "Search the console",
  switched: (name: string) => `You see ${name} now.`,
  switchedToAll: "You see the whole service now.",
  notAfterSwitch: (name: string) => `That page does not exist in ${name}, so here is the list.`,
  overviewAfterSwitch: (name: string) => `That page does not exist in ${name}, so here is the overview.`,
}, {
  notHere: (scope: string) =>
    `Esta página não existe em ${scope}. O endereço pode estar errado, ou o que ela mostrava foi excluído ou pertence a outro inquilino.`,
  wholeService: "todo o serviço",
  noScope: "sua conta",
  needs: (permissions: string, scope: string) => `Você precisa de ${permissions} em ${scope}.`,
  askFor: (scope: string) => `Peça a um administrador de ${scope} um papel com esta permissão.`,
  goOn: "Como continuar",
  existsIn: (name: string) => `Existe em ${name}.`,
  switchTo: (name: string) => `Mudar para ${name}`,
  switchTenant: "Mudar de inquilino",
  toList: (name: string) => `Ir para ${name}`,
  toOverview: "Ir para a visão geral",
  search: "Buscar no console",
  switched: (name: string) => `Agora você vê ${name}.`,
  switchedToAll: "Agora você vê todo o serviço.",
  notAfterSwitch: (name: string) => `Essa página não existe em ${name}; aqui está a lista.`,
  overviewAfterSwitch: (name: string) => `Essa página não existe em ${name}; aqui está a visão geral.`,
});
