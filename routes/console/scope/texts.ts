import { defineTexts } from "../shared/languages.ts";

/** Texts of the switcher between the whole service and tenants. */
export const switcherTexts = defineTexts({
  title: "Switch tenant",
  scope: "Scope",
  search: "Search tenants by name or id",
  options: "Tenants",
  whole: "Whole service",
  wholeDetail: "All tenants",
  current: "current",
  member: "Switch to it",
  other: "Work in this tenant…",
  nothing: "No tenant matches.",
  more: (count: number) => `${count} more match. Type more of the name.`,
  noTenant: "No tenant",
  look: "Without working in it",
  lookHint: "These lists show only this tenant:",
}, {
  title: "Mudar de inquilino",
  scope: "Escopo",
  search: "Buscar inquilinos por nome ou id",
  options: "Inquilinos",
  whole: "Todo o serviço",
  wholeDetail: "Todos os inquilinos",
  current: "atual",
  member: "Mudar para ele",
  other: "Trabalhar neste inquilino…",
  nothing: "Nenhum inquilino corresponde.",
  more: (count: number) => `Mais ${count} correspondem. Digite mais do nome.`,
  noTenant: "Sem inquilino",
  look: "Sem trabalhar nele",
  lookHint: "Estas listas mostram só este inquilino:",
});
