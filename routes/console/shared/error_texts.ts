import { defineTexts } from "./languages.ts";

/** Texts of pages that are not found or not open to the viewer, and of the ways on from there. */
export const errorTexts = defineTexts({
  notHere: (scope: string) => [
    `There is no such page in ${scope}. The address may be wrong, or what it showed was deleted or belongs to another tenant.`,
    `Esta página não existe em ${scope}. O endereço pode estar errado, ou o que ela mostrava foi excluído ou pertence a outro inquilino.`,
  ],
  wholeService: ["the whole service", "todo o serviço"],
  noScope: ["your account", "sua conta"],
  needs: (permissions: string, scope: string) => [
    `You need ${permissions} in ${scope}.`,
    `Você precisa de ${permissions} em ${scope}.`,
  ],
  askFor: (scope: string) => [
    `Ask an administrator of ${scope} for a role with this permission.`,
    `Peça a um administrador de ${scope} um papel com esta permissão.`,
  ],
  goOn: ["Where to go on", "Como continuar"],
  existsIn: (name: string) => [`It exists in ${name}.`, `Existe em ${name}.`],
  switchTo: (name: string) => [`Switch to ${name}`, `Mudar para ${name}`],
  switchTenant: ["Switch tenant", "Mudar de inquilino"],
  toList: (name: string) => [`Go to ${name}`, `Ir para ${name}`],
  toOverview: ["Go to the overview", "Ir para a visão geral"],
  search: ["Search the console", "Buscar no console"],
  switched: (name: string) => [`You see ${name} now.`, `Agora você vê ${name}.`],
  switchedToAll: ["You see the whole service now.", "Agora você vê todo o serviço."],
  notAfterSwitch: (name: string) => [
    `That page does not exist in ${name}, so here is the list.`,
    `Essa página não existe em ${name}; aqui está a lista.`,
  ],
  overviewAfterSwitch: (name: string) => [
    `That page does not exist in ${name}, so here is the overview.`,
    `Essa página não existe em ${name}; aqui está a visão geral.`,
  ],
});
